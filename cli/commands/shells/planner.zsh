#compdef planner
# Completion of `planner` in zsh: as _planner in a folder of $fpath, or source <(planner completion zsh)
_planner() {
    local out line directive
    local -a candidates
    out=$(planner __complete "${(@)words[2,CURRENT]}" 2>/dev/null) || return
    for line in ${(f)out}; do
        case $line in
        :*) directive=${line#:} ;;
        *$'\t'*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *) candidates+=("${line//:/\\:}") ;;
        esac
    done
    if [[ $directive == 0 ]]; then
        _files
    elif [[ $directive == 6 ]]; then
        _describe -V planner candidates -S ''
    else
        _describe -V planner candidates
    fi
}
if [[ $funcstack[1] == _planner ]]; then _planner "$@"; else compdef _planner planner; fi
