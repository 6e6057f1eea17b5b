/// `holdfast help --completion SHELL`, committed in completions/. Each script is one `case` a command, made of the table.
enum Completion {
  static func script(_ shell: String) -> String {
    switch shell {
    case "zsh": zsh
    case "fish": fish
    default: bash
    }
  }
  private static func head(_ shell: String) -> String {
    "# Completions of holdfast for \(shell). Made by `holdfast help --completion \(shell)` (make generated). Don't edit it.\n"
  }
  private static let commands = CommandName.allCases.map(\.rawValue)

  // MARK: bash

  private static var bash: String {
    var out = head("bash")
    out += """
      _holdfast() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} i
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commands.joined(separator: " ")) --help --version" -- "$cur"))
          return
        fi
        # Bash takes --name=value and file:PATH apart: the value is what is behind the last = or :.
        local option=$prev value=$cur
        if [ "$cur" = "=" ]; then value=; elif [ "$prev" = "=" ]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi
        if [ "$cur" = ":" ] || [ "$prev" = ":" ]; then
          i=$((COMP_CWORD - 1)); [ "$cur" = ":" ] && { i=$COMP_CWORD; value=; }
          [ "${COMP_WORDS[i-1]}" = file ] && _holdfast_files "$value"
          return
        fi
        for ((i = 2; i < COMP_CWORD; i++)); do
          [ "${COMP_WORDS[i]}" = -- ] && { option=; cur=${cur/#-/./-}; break; }
        done
        case $command in

      """
    for command in CommandName.allCases {
      out += "  \(command.rawValue))\n    case $option in\n"
      for option in command.options {
        guard let value = option.value else { continue }
        let names = [option.short, option.long].compactMap { $0 }.joined(separator: "|")
        out += "    \(names)) \(bashAction(value.completes, "$value")); return ;;\n"
      }
      out += "    esac\n"
      let words = command.options.flatMap { [$0.short, $0.long].compactMap { $0 } } + ["--help"]
      out +=
        "    case $cur in\n    -*) COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$cur\")) ;;\n"
      out += "    *) \(bashAction(command.page.completes, "$cur")) ;;\n    esac ;;\n"
    }
    out += """
        esac
      }
      # Files with one of the endings, and folders.
      _holdfast_files() {
        local word=$1 name ending
        shift
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        for name in $(compgen -f -- "$word"); do
          if [ -d "$name" ] || [ $# -eq 0 ]; then COMPREPLY+=("$name"); continue; fi
          for ending in "$@"; do
            case $name in *."$ending") COMPREPLY+=("$name"); break ;; esac
          done
        done
      }
      complete -F _holdfast holdfast

      """
    return out
  }
  private static func bashAction(_ completes: Completing, _ word: String) -> String {
    switch completes {
    case .nothing: ":"
    case .words(let words): "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"\(word)\"))"
    case .spec(let words):
      "compopt -o nospace 2>/dev/null; COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"\(word)\"))"
    case .files(let endings): (["_holdfast_files \"\(word)\""] + endings).joined(separator: " ")
    case .folders: "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"\(word)\"))"
    }
  }

  // MARK: zsh

  private static var zsh: String {
    var out = "#compdef holdfast\n" + head("zsh")
    out += """
      _holdfast() {
        local curcontext=$curcontext state line
        if (( CURRENT == 2 )); then
          local -a commands=(

      """
    for command in CommandName.allCases {
      out += "      '\(command.rawValue):\(zshText(command.page.summary))'\n"
    }
    out += """
          )
          _describe -t commands 'command' commands
          return
        fi
        local command=$words[2]
        shift words
        (( CURRENT-- ))
        case $command in

      """
    for command in CommandName.allCases {
      out += "  \(command.rawValue))\n    _arguments -S"
      for option in command.options {
        let names = [option.short, option.long].compactMap { $0 }
        let text = "[\(zshText(option.help))]"
        let value = option.value.map { ":\(zshText($0.shown)):\(zshAction($0.completes))" } ?? ""
        let equals = option.value == nil ? "" : "="
        if names.count == 1 {
          out += " \\\n      '\(option.long)\(equals)\(text)\(value)'"
        } else {
          let plus = option.value == nil ? "" : "+"
          out +=
            " \\\n      '(\(names.joined(separator: " ")))'{\(names[0])\(plus),\(option.long)\(equals)}'\(text)\(value)'"
        }
      }
      out += " \\\n      '--help[explains the command]'"
      if command.page.completes != .nothing {
        out += " \\\n      '*:\(zshText(command.page.operands)):\(zshAction(command.page.completes))'"
      }
      out += " ;;\n"
    }
    return out + """
        esac
      }
      if [ "$funcstack[1]" = _holdfast ]; then _holdfast "$@"; else compdef _holdfast holdfast; fi

      """
  }
  private static func zshAction(_ completes: Completing) -> String {
    switch completes {
    case .nothing: " "
    case .words(let words): "(\(words.joined(separator: " ")))"
    case .spec(let words): "(\(words.map { $0.replacing(":", with: "\\:") }.joined(separator: " ")))"
    case .files(let endings) where endings.isEmpty: "_files"
    case .files(let endings): "_files -g \"*.(\(endings.joined(separator: "|")))(-.)\""
    case .folders: "_files -/"
    }
  }
  /// Inside single quotes, brackets and colons of `_arguments`.
  private static func zshText(_ text: String) -> String {
    var out = ""
    for character in text {
      switch character {
      case "'": out += "'\\''"
      case "[", "]", ":", "\\": out += "\\\(character)"
      case "…": out += "..."
      default: out.append(character)
      }
    }
    return out
  }

  // MARK: fish

  private static var fish: String {
    var out = head("fish")
    out += """
      complete -c holdfast -f
      complete -c holdfast -n __fish_use_subcommand -l version -d 'versions of the program and its libraries'
      complete -c holdfast -s h -l help -d 'explains a command'

      """
    for command in CommandName.allCases {
      let name = command.rawValue
      out += "complete -c holdfast -n __fish_use_subcommand -a \(name) -d \(fishText(command.page.summary))\n"
      let inside = "complete -c holdfast -n '__fish_seen_subcommand_from \(name)'"
      for option in command.options {
        out += inside + (option.short.map { " -s \($0.dropFirst())" } ?? "") + " -l \(option.key)"
        if let value = option.value { out += " -r" + fishAction(value.completes) }
        out += " -d \(fishText(option.help))\n"
      }
      if command.page.completes != .nothing { out += inside + fishAction(command.page.completes) + "\n" }
    }
    return out
  }
  private static func fishAction(_ completes: Completing) -> String {
    switch completes {
    case .nothing: " -f"
    case .words(let words), .spec(let words): " -f -a \(fishText(words.joined(separator: " ")))"
    case .files(let endings) where endings.isEmpty: " -F"
    case .files(let endings):
      " -k -a \(fishText("(" + endings.map { "__fish_complete_suffix .\($0)" }.joined(separator: "; ") + ")"))"
    case .folders: " -f -a '(__fish_complete_directories)'"
    }
  }
  private static func fishText(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'").replacing("…", with: "...") + "'"
  }
}
