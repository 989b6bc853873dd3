{{/* SPDX-License-Identifier: BSD-3-Clause. Labels that never change: selectors consist of them. */}}
{{- define "dpdk-spead.selector" -}}
app.kubernetes.io/name: dpdk-spead
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dpdk-spead.labels" -}}
{{ include "dpdk-spead.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
dpdk-spead/plan: {{ .Values.name | quote }}
{{- end }}

{{/* Requests and limits of the container. Whole CPUs and huge pages want both to be equal. */}}
{{- define "dpdk-spead.resources" -}}
{{- $fixed := dict }}
{{- if .Values.cpuManager.cpus }}
{{- $_ := set $fixed "cpu" (toString .Values.cpuManager.cpus) }}
{{- $_ := set $fixed "memory" .Values.cpuManager.memory }}
{{- end }}
{{- if .Values.hugePages.amount }}
{{- $_ := set $fixed (printf "hugepages-%s" .Values.hugePages.size) .Values.hugePages.amount }}
{{- end }}
{{- if .Values.sriov.resource }}
{{- $_ := set $fixed .Values.sriov.resource (toString .Values.sriov.count) }}
{{- end }}
{{- $resources := deepCopy .Values.resources }}
{{- if $fixed }}
{{- $resources = mergeOverwrite $resources (dict "requests" $fixed "limits" $fixed) }}
{{- end }}
{{- toYaml $resources }}
{{- end }}
