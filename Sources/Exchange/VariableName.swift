internal import Ground

/// The environment variable for an item's name: `db/password` becomes `DB_PASSWORD`.
public enum VariableName {
  /// A name that is already a valid variable, with a capital or `_` in it, is kept: `http_proxy`, `TF_VAR_region`. In
  /// other names, letters become capitals, digits are kept, and every other character becomes `_`. A leading digit gets
  /// a `_` before it.
  ///
  /// - Returns: `nil` for a name without any ASCII letter or digit.
  public static func of(_ itemName: String) -> String? {
    let hasOwnForm = itemName.utf8.contains { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "_") }
    if isValid(itemName), hasOwnForm, itemName.utf8.contains(where: { $0 != UInt8(ascii: "_") }) { return itemName }
    var name = itemName.unicodeScalars.map { scalar -> Character in
      switch scalar {
      case "a"..."z": Character(Unicode.Scalar(UInt8(scalar.value) - 32))
      case "A"..."Z", "0"..."9": Character(scalar)
      default: "_"
      }
    }
    guard name.contains(where: { $0 != "_" }) else { return nil }
    if let first = name.first, first.isNumber { name.insert("_", at: 0) }
    return String(name)
  }

  /// Whether shells accept the name: letters, digits and `_`, but no digit first.
  package static func isValid(_ name: String) -> Bool {
    name.utf8.first.map { !$0.isDigit } == true && name.utf8.allSatisfy(\.isWord)
  }
}

extension VariableName {
  /// Whether this variable can hijack a program: it controls what the program runs, loads or reads first, or how a
  /// shell works.
  ///
  /// Writers of a group choose the names of its items, and must not be able to run code in programs that read the
  /// group.
  ///
  /// - Parameters:
  ///   - name: the name that the program sees.
  ///   - hasPrefix: whether the user put a prefix before the item's name. Then only whole names and prefixes of families
  ///     are compared, because no program knows `MYAPP_LD_PRELOAD`.
  public static func canHijack(_ name: String, hasPrefix: Bool = false) -> Bool {
    // Some are read in lower case, too: http_proxy, npm_config_registry.
    let name = name.uppercased()
    return names.contains(name) || families.contains { name.hasPrefix($0) }
      || !hasPrefix && endings.contains { name.hasSuffix($0) }
  }

  private static let families = [
    "BASH_", "CARGO_", "CORECLR_", "DYLD_", "GIT_", "GO111", "LD_", "MALLOC_", "NPM_CONFIG_", "OPENSSL_", "PIP_",
    "RUSTC", "XDG_",
  ]
  private static let endings = [
    "_ASKPASS", "_CONFIG_FILE", "_EDITOR", "_PAGER", "_PRELOAD", "_PROXY", "_SHELL", "_WRAPPER",
  ]

  private static let names = Set(
    """
    CDPATH ENV EUID EGID FPATH GID HOME HOSTALIASES IFS LOCPATH MAILPATH MODULE_PATH NLSPATH PATH PPID SHELL SHELLOPTS TEMP \
    TMP TMPDIR UID ZDOTDIR CREDENTIALS_DIRECTORY \
    BASHOPTS BASHPID PROMPT PROMPT2 PROMPT3 PROMPT4 PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 RPROMPT RPROMPT2 RPS1 RPS2 SPROMPT \
    COLUMNS FUNCNEST HISTCMD HISTFILE HISTSIZE KEYTIMEOUT LINENO LINES MAILCHECK OPTIND RANDOM SAVEHIST SECONDS SRANDOM TMOUT \
    GCONV_PATH GETCONF_DIR GLIBC_TUNABLES GTK_MODULES INPUTRC QT_PLUGIN_PATH TERMCAP TERMINFO \
    BROWSER EDITOR EXINIT FCEDIT LESS LESSCLOSE LESSOPEN MANPAGER MORE PAGER SUDO_EDITOR SYSTEMD_EDITOR SYSTEMD_PAGER VIMINIT \
    VIMRUNTIME VISUAL \
    CVS_RSH DOCKER_CONFIG DOCKER_HOST GNUPGHOME KUBECONFIG RSYNC_RSH SSH_ASKPASS SUDO_ASKPASS SVN_SSH TAR_OPTIONS \
    CLASSPATH JAVA_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS GRADLE_OPTS MAVEN_OPTS _JAVA_OPTIONS \
    DOTNET_STARTUP_HOOKS GNUMAKEFLAGS GOFLAGS LUA_CPATH LUA_INIT LUA_PATH MAKEFILES MAKEFLAGS MFLAGS NODE_OPTIONS NODE_PATH \
    PERL5DB PERL5LIB PERL5OPT PERLLIB PHPRC PHP_INI_SCAN_DIR RUBYLIB RUBYOPT RUSTC_WRAPPER RUSTFLAGS \
    PYTHONBREAKPOINT PYTHONHOME PYTHONPATH PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS \
    AR AS CC CCACHE_PREFIX CPP CXX FC LD NULLCMD READNULLCMD YACC LEX MAVEN_ARGS SBT_OPTS CATALINA_OPTS JAVA_HOME ANSIBLE_CONFIG \
    BUNDLE_GEMFILE CLOUDSDK_PYTHON GOENV HELM_PLUGINS KRB5_CONFIG LIBMYSQL_PLUGINS ODBCSYSINI SSH_PKCS11_HELPER SSH_SK_PROVIDER \
    YARN_YARN_PATH CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSLKEYLOGFILE SSL_CERT_DIR SSL_CERT_FILE \
    ANT_OPTS BUN_OPTIONS COMPOSER_HOME ELECTRON_RUN_AS_NODE ERL_AFLAGS ERL_FLAGS LESSKEY NODE_REPL_EXTERNAL_MODULE \
    PYTHONINSPECT R_PROFILE SSH_ASKPASS_REQUIRE TCLLIBPATH \
    VAULT_CREDENTIAL VAULT_GROUP VAULT_HOME VAULT_KEY_FILE VAULT_STATE
    """.split(separator: " ").map(String.init))
}
