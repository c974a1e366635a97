# Makes completion of redtune in bash, zsh or fish (shell=...) from the command's help.
#
# Input: for each command, "tune" first, a line "@command NAME DESCRIPTION" and then what
# `redtune NAME --help` prints. ops, dtypes and families are lists of names. An option's value is
# completed by its name, where the help gives its values, and else by the word that stands for it:
# FILE, PATH and DIR are files, and "OP,..." takes several with commas between.

function words_of(option, value) {
    if (option == "op") return ops
    if (option == "dtype") return dtypes
    if (option == "family") return families
    if (option == "order") return "free fixed"
    if (option == "accuracy") return "plain compensated exact"
    if (option == "effort") return "quick standard exhaustive"
    if (option == "format") return "sqlite json"
    if (option == "shard") return "auto"
    if (option == "device") return "0 1 2 3 sim" (value ~ /all/ ? " all" : "")
    if (option == "gpu") return value ~ /all/ ? "all" : ""
    if (option == "axis") return "0 1 -1"
    return ""
}

function is_file(value) { return value ~ /^(FILE|PATH|DIR)/ }
function is_list(value) { return value ~ /,\.\.\./ }

# "  -o, --output FILE   where to write": the option of the current command.
function take_option(line,    at, short) {
    short = match(line, /^ +-[a-z],/) ? substr(line, RSTART + RLENGTH - 2, 1) : ""
    sub(/^ +(-[a-z], )?--/, "", line)
    at = match(line, /  +/)
    n++
    command_of[n] = command
    short_of[n] = short
    help_of[n] = at ? substr(line, at + RLENGTH) : ""
    sub(/ *\(default:.*/, "", help_of[n])
    sub(/^\.\.\. /, "", help_of[n])
    sub(/,$/, "", help_of[n])
    if (at) line = substr(line, 1, at - 1)
    at = index(line, " ")
    name_of[n] = at ? substr(line, 1, at - 1) : line
    value_of[n] = at ? substr(line, at + 1) : ""
}

$1 == "@command" {
    command = $2
    commands = commands (commands ? " " : "") command
    sub(/^@command [^ ]+ /, "")
    about[command] = $0
    next
}
/^ +(-[a-z], )?--[a-z]/ { take_option($0) }

# ---- bash ----------------------------------------------------------------------------------------

function bash_values(    i, words) {
    for (i = 1; i <= n; i++) {
        if (value_of[i] == "") continue
        words = words_of(name_of[i], value_of[i])
        printf "    %s:--%s%s) ", command_of[i], name_of[i], \
            short_of[i] ? " | " command_of[i] ":-" short_of[i] : ""
        if (is_file(value_of[i])) print "compopt -o default; return ;;"
        else print "list='" words "'" (is_list(value_of[i]) ? " several=1" : "") " found=1 ;;"
    }
}

function bash_options(    i, names, each, count) {
    for (i = 1; i <= n; i++) names[command_of[i]] = names[command_of[i]] " --" name_of[i]
    count = split(commands, each, " ")
    for (i = 1; i <= count; i++) print "        " each[i] ") list='" substr(names[each[i]], 2) "' ;;"
}

function bash() {
    print "# Completion of redtune in bash, made from its help."
    print "_redtune() {"
    print "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}"
    print "    local command= bare= i list= found= several= head="
    print "    COMPREPLY=()"
    print "    for ((i = 1; i < COMP_CWORD; i++)); do"
    print "        case \" " commands " \" in *\" ${COMP_WORDS[i]} \"*) command=${COMP_WORDS[i]}; break ;; esac"
    print "    done"
    print "    [ -n \"$command\" ] || bare=1 command=tune"
    print "    # --op=sum comes as three words."
    print "    if [ \"$word\" = = ]; then"
    print "        word="
    print "    elif [ \"$before\" = = ]; then"
    print "        before=${COMP_WORDS[COMP_CWORD-2]}"
    print "    fi"
    print "    case $command:$before in"
    bash_values()
    print "    esac"
    print "    if [ -z \"$found\" ]; then"
    print "        case $command in"
    bash_options()
    print "        esac"
    print "        [ -z \"$bare\" ] || list=\"" commands " $list\""
    print "    fi"
    print "    [ -z \"$several\" ] || head=${word%\"${word##*,}\"}"
    print "    COMPREPLY=($(compgen -P \"$head\" -W \"$list\" -- \"${word#\"$head\"}\"))"
    print "    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default"
    print "}"
    print "complete -F _redtune redtune"
}

# ---- zsh -----------------------------------------------------------------------------------------

function zsh_quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/\[/, "\\[", text)
    gsub(/]/, "\\]", text)
    gsub(/:/, "\\:", text)
    gsub(/'/, "'\\''", text)
    return text
}

function zsh_value(i,    words, value) {
    value = value_of[i]
    if (value == "") return ""
    words = words_of(name_of[i], value)
    if (is_file(value)) return ":" zsh_quoted(value) ":" (value == "DIR" ? "_files -/" : "_files")
    if (words == "") return ":" zsh_quoted(value) ": "
    return ":" zsh_quoted(value) ":" (is_list(value) ? "_values -s , value " words : "(" words ")")
}

# What stands beside the options.
function rest(command) {
    return " \\\n        '*:" (command == "tune" ? "command:{ (( bare )) && _describe command commands }" \
        : "file:_files") "' ;;\n"
}

function zsh(    i, each, count, name) {
    count = split(commands, each, " ")
    print "#compdef redtune"
    print "# Completion of redtune in zsh, made from its help."
    print "_redtune() {"
    print "    local -a commands=("
    for (i = 1; i <= count; i++) print "        '" each[i] ":" zsh_quoted(about[each[i]]) "'"
    print "    )"
    print "    local command= bare=0 i"
    print "    for (( i = 2; i < CURRENT; i++ )); do"
    print "        if [[ \" " commands " \" == *\" $words[i] \"* ]]; then"
    print "            command=$words[i]"
    print "            words[i]=()"
    print "            (( CURRENT-- ))"
    print "            break"
    print "        fi"
    print "    done"
    print "    # Without a command there may be one yet, behind options."
    print "    [[ -n $command ]] || { command=tune; bare=1 }"
    print "    case $command in"
    for (i = 1; i <= n; i++) {
        if (command_of[i] != command_of[i - 1])
            printf "%s    %s) _arguments", (i > 1 ? rest(command_of[i - 1]) : ""), \
                command_of[i]
        name = "--" name_of[i]
        if (short_of[i]) name = "(-" short_of[i] " " name ")'{-" short_of[i] "," name "}'"
        printf " \\\n        '%s[%s]%s'", name, zsh_quoted(help_of[i]), zsh_value(i)
    }
    printf "%s", rest(command_of[n])
    print "    esac"
    print "}"
    print "_redtune \"$@\""
}

# ---- fish ----------------------------------------------------------------------------------------

function fish_quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/'/, "\\'", text)
    return "'" text "'"
}

function fish_value(i,    words, value) {
    value = value_of[i]
    if (value == "") return ""
    if (is_file(value)) return " -r -F"
    words = words_of(name_of[i], value)
    if (words == "") return " -x"
    return " -x -a " fish_quoted(is_list(value) ? "(__fish_append , " words ")" : words)
}

function fish(    i, each, count, others, when) {
    count = split(commands, each, " ")
    others = commands
    sub(/^tune /, "", others)
    print "# Completion of redtune in fish, made from its help."
    for (i = 1; i <= count; i++)
        print "complete -c redtune -f -n " fish_quoted("not __fish_seen_subcommand_from " commands) \
            " -a " each[i] " -d " \
            fish_quoted(about[each[i]])
    for (i = 1; i <= n; i++) {
        when = command_of[i] == "tune" ? "not __fish_seen_subcommand_from " others \
            : "__fish_seen_subcommand_from " command_of[i]
        print "complete -c redtune -n " fish_quoted(when) (short_of[i] ? " -s " short_of[i] : "") \
            " -l " name_of[i] fish_value(i) " -d " fish_quoted(help_of[i])
    }
}

END {
    if (shell == "bash") bash()
    if (shell == "zsh") zsh()
    if (shell == "fish") fish()
}
