# Completion of `planner` in bash: source <(planner completion bash)
_planner() {
    local line words out directive cur candidate
    line=${COMP_LINE:0:COMP_POINT}
    read -r -a words <<<"$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    cur=${words[${#words[@]} - 1]}
    out=$(planner __complete "${words[@]:1}" 2>/dev/null) || return
    directive=${out##*:}
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        # bash replaces only what stands behind the last of its word breaks.
        case $candidate in
        :*) ;;
        *) [[ $COMP_WORDBREAKS == *=* && $cur == *=* ]] && candidate=${candidate#"${cur%=*}="}
            COMPREPLY+=("$candidate") ;;
        esac
    done <<<"$out"
    case $directive in
    0) compopt -o default 2>/dev/null ;;
    6) compopt -o nospace 2>/dev/null ;;
    esac
}
complete -F _planner planner
