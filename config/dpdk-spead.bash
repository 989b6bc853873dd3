# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Completes dpdk-spead's commands, options and values in bash, as the program's own --help lists them.
# `meson install` puts it where bash-completion looks; `. config/dpdk-spead.bash` has it in one shell.

# _dpdk_spead_help HEADING WORD...: prints "NAME VALUE" of each entry below HEADING in the help of a command
_dpdk_spead_help() {
    local heading=$1
    shift
    "$_dpdk_spead_program" "$@" --help 2>/dev/null </dev/null | awk -v heading="$heading:" '
        /^[A-Z][a-z]*:$/ { inside = ($0 == heading); next }
        inside && /^  [^ ]/ {
            about = match(substr($0, 3), /  /)
            entry = about ? substr($0, 3, about - 1) : substr($0, 3)
            value = match(entry, / /) ? substr(entry, RSTART + 1) : ""
            count = split(value == "" ? entry : substr(entry, 1, RSTART - 1), names, ",")
            for (i = 1; i <= count; i++)
                print names[i], value
        }'
}

# _dpdk_spead_files TYPED [-d]: files, or directories only
_dpdk_spead_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "${2:--f}" -- "$1")
}

# _dpdk_spead_value VALUE TYPED: what may stand for VALUE, as the help names it
_dpdk_spead_value() {
    local value=$1 typed=$2 choices
    case $value in
        *FILE*) _dpdk_spead_files "$typed" ;;
        *DEVICE* | *PORT)
            # Interfaces of this machine; [ADDRESS:]PORT and GROUP:PORT are addresses.
            if [[ $value != *:* ]]; then
                choices=$(cd /sys/class/net 2>/dev/null && echo *)
                mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$typed")
            fi
            ;;
        *'|'*)
            local kind=${typed%%:*}
            if [[ $typed == ?*:* && $value == *"$kind:DIR"* ]]; then
                # A colon begins a word of its own, unless a person took it out of COMP_WORDBREAKS.
                mapfile -t COMPREPLY < <(compgen -P "$kind:" -d -- "${typed#*:}")
                return
            fi
            choices=${value//|/ }
            choices=${choices//DIR/}
            choices=${choices//PATH/}
            mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$typed")
            [[ ${COMPREPLY[0]-} != *: ]] || compopt -o nospace 2>/dev/null
            ;;
    esac
}

_dpdk_spead() {
    local _dpdk_spead_program=$1 typed=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local first=1 i word names command=()
    COMPREPLY=()
    # EAL options, if any, end at the first `--`.
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then
            case " ${COMP_WORDS[*]:1:i} " in
                *' attach '*) return ;; # a prompt command follows
            esac
            first=$((i + 1))
            break
        fi
    done
    for ((i = first; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        [[ $word != -* ]] || break
        names=$(_dpdk_spead_help Subcommands ${command[@]+"${command[@]}"})
        grep -qx -- "$word " <<<"$names" || break
        command+=("$word")
    done
    names=$(_dpdk_spead_help Subcommands ${command[@]+"${command[@]}"})
    if [ -n "$names" ] && [[ $typed != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$typed")
        return
    fi
    names=$(_dpdk_spead_help Options ${command[@]+"${command[@]}"})
    # A colon in what is typed makes words of its parts.
    if [ "$typed" = : ]; then
        typed=
    elif [ "$before" = : ] && ((COMP_CWORD > 2)); then
        before=${COMP_WORDS[COMP_CWORD - 3]}
        if [[ ${COMP_WORDS[COMP_CWORD - 2]} == file ]]; then
            _dpdk_spead_files "$typed" -d
        fi
        return
    fi
    if [[ $before == -* ]]; then
        word=$(grep -m 1 -- "^$before ." <<<"$names")
        if [ -n "$word" ]; then
            _dpdk_spead_value "${word#* }" "$typed"
            return
        fi
    fi
    if [[ $typed == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(cut -d ' ' -f 1 <<<"$names")" -- "$typed")
        return
    fi
    names=$(_dpdk_spead_help Arguments "${command[@]}")
    case $names in
        *FILE*) _dpdk_spead_files "$typed" ;;
        'PORT '*) _dpdk_spead_value PORT "$typed" ;;
    esac
}
complete -F _dpdk_spead dpdk-spead
