internal import Ground

/// The scripts that pass the answer of `NAME complete` to a shell.
///
/// The answer's first line is `words` or `files`; each candidate follows on a separate line, unquoted. The script does
/// the quoting for its shell.
enum CompletionScript: String, CaseIterable {
  case bash, zsh, fish

  /// - Parameter name: the program's name.
  func text(for name: String) -> String {
    let template =
      switch self {
      case .bash: CompletionScript.bashTemplate
      case .zsh: CompletionScript.zshTemplate
      case .fish: CompletionScript.fishTemplate
      }
    let identifier = String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
    return template.exchanging("IDENTIFIER", for: identifier).exchanging("PROGRAM", for: name)
  }

  // Bash also splits words at : and =. The script joins them again, and removes from the answer the part that bash
  // keeps. A name may contain text that a shell would run. So the script offers nothing if it and readline disagree
  // about the word ($2), or if the open quote cannot contain the name. Type 42 is M-*, which removes the opening quote.
  private static let bashTemplate = #"""
    # bash completion for PROGRAM
    _IDENTIFIER_complete() {
      local rest=${COMP_LINE:0:COMP_POINT} words=() part trimmed kept= index
      COMPREPLY=()
      for ((index = 0; index <= COMP_CWORD; index++)); do
        trimmed=${rest#"${rest%%[![:space:]]*}"}
        part=$trimmed
        ((index < COMP_CWORD)) && part=${COMP_WORDS[index]}
        if ((index > 0)) && [[ -n $rest && $trimmed == "$rest" ]]; then
          kept=${words[-1]}
          words[-1]+=$part
        else
          kept=
          words+=("$part")
        fi
        rest=${trimmed#"$part"}
      done
      [[ $part == [:=]* ]] && kept=${words[-1]}
      local typed=${words[-1]} quote=
      case $typed in \"* | \'*) quote=${typed:0:1} typed=${typed:1} ;; esac
      [[ ${typed#"$kept"} == "$2" ]] || return
      [[ -n $quote && $COMP_TYPE == 42 ]] && return
      local plain=() word
      for word in "${words[@]:1:${#words[@]}-2}"; do
        case $word in
          \"*) word=${word#\"} word=${word%\"} ;;
          \'*) word=${word#\'} word=${word%\'} ;;
          *) word=${word//\\/} ;;
        esac
        plain+=("$word")
      done
      word=
      while [[ $quote != \' && $typed == *\\* ]]; do
        word+=${typed%%\\*} typed=${typed#*\\}
        [[ -z $quote || -z $typed || $typed == [\"\$\`\\]* ]] || word+=\\
        word+=${typed:0:1} typed=${typed:1}
      done
      plain+=("$word$typed")
      local kind candidates=()
      {
        IFS= read -r kind
        mapfile -t candidates
      } < <(command "${words[0]}" complete -- "${plain[@]}" 2>/dev/null)
      if [[ $kind == files ]]; then
        compopt -o filenames
        word=${plain[-1]} typed=
        [[ $word == --*=* ]] && typed=${word%%=*}=
        mapfile -t COMPREPLY < <(compgen -P "$typed" -f -- "${word#"$typed"}")
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
        return
      fi
      for word in "${candidates[@]}"; do
        case $quote in
          \') [[ $word != *\'* ]] || continue ;;
          \") [[ $word != *[\"\!]* ]] || continue
            word=${word//\\/\\\\} word=${word//\$/\\\$} word=${word//\`/\\\`} ;;
          *) printf -v word %q "$word" ;;
        esac
        [[ $word == "$kept"* ]] && COMPREPLY+=("${word#"$kept"}")
      done
    }
    complete -F _IDENTIFIER_complete PROGRAM

    """#

  private static let zshTemplate = #"""
    #compdef PROGRAM
    # zsh completion for PROGRAM
    _IDENTIFIER_complete() {
      # In an open quote, the word at the cursor has no closing one.
      local typed=${(Q)${:-$QIPREFIX$PREFIX$QIPREFIX}}
      local -a answer
      answer=("${(@f)$(command ${words[1]} complete -- "${(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null)}")
      if [[ $answer[1] == files ]]; then
        [[ $typed == --*=* ]] && compset -P 1 '*='
        _files
      else
        shift answer
        compadd -a answer
      fi
    }
    if [[ $funcstack[1] == _PROGRAM ]]; then _IDENTIFIER_complete "$@"; else compdef _IDENTIFIER_complete PROGRAM; fi

    """#

  private static let fishTemplate = #"""
    # fish completion for PROGRAM
    function __IDENTIFIER_complete
      set -l words (commandline -opc)
      set -l typed (commandline -ct | string unescape)
      set -l answer (command $words[1] complete -- $words[2..-1] "$typed" 2>/dev/null)
      if test "$answer[1]" = files
        set -l option (string match -r -- '^--[^=]*=' "$typed")
        set -l paths (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed"))
        string replace -r -- '^' "$option" $paths
      else
        printf '%s\n' $answer[2..-1]
      end
    end
    complete -c PROGRAM -f -a '(__IDENTIFIER_complete)'

    """#
}
