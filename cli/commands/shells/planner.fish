# Completion of `planner` in fish: planner completion fish > ~/.config/fish/completions/planner.fish
function __planner_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l out (planner __complete $words[2..-1] 2>/dev/null)
    if test (count $out) -gt 0; and test "$out[-1]" = ":0"
        __fish_complete_path (commandline -ct)
    else
        string match -v -- ':*' $out
    end
end
complete -c planner -f -a '(__planner_candidates)'
