// The constants of Apple's keychain services that this module knows.

// MARK: Keys

public let kSecClass: CFString = "class"
public let kSecAttrAccessGroup: CFString = "accessGroup"
public let kSecAttrAccount: CFString = "account"
public let kSecAttrService: CFString = "service"
public let kSecAttrGeneric: CFString = "generic"
public let kSecAttrServer: CFString = "server"
public let kSecAttrProtocol: CFString = "protocol"
public let kSecAttrPort: CFString = "port"
public let kSecAttrPath: CFString = "path"
public let kSecAttrSecurityDomain: CFString = "securityDomain"
public let kSecAttrAuthenticationType: CFString = "authenticationType"
public let kSecAttrLabel: CFString = "label"
public let kSecAttrComment: CFString = "comment"
public let kSecAttrDescription: CFString = "description"
public let kSecAttrAccessible: CFString = "accessible"
public let kSecAttrAccessControl: CFString = "accessControl"
public let kSecAttrSynchronizable: CFString = "synchronizable"
public let kSecAttrCreationDate: CFString = "creationDate"
public let kSecAttrModificationDate: CFString = "modificationDate"
public let kSecValueData: CFString = "data"
public let kSecReturnData: CFString = "returnData"
public let kSecReturnAttributes: CFString = "returnAttributes"
public let kSecReturnRef: CFString = "returnRef"
public let kSecReturnPersistentRef: CFString = "returnPersistentRef"
public let kSecMatchLimit: CFString = "matchLimit"
public let kSecUseDataProtectionKeychain: CFString = "useDataProtectionKeychain"
public let kSecUseAuthenticationUI: CFString = "useAuthenticationUI"
public let kSecUseOperationPrompt: CFString = "useOperationPrompt"

// Known and refused.
public let kSecAttrCreator: CFString = "crtr"
public let kSecAttrType: CFString = "type"
public let kSecAttrIsInvisible: CFString = "invi"
public let kSecAttrIsNegative: CFString = "nega"
public let kSecUseAuthenticationContext: CFString = "u_AuthCtx"
public let kSecValueRef: CFString = "v_Ref"
public let kSecValuePersistentRef: CFString = "v_PersistentRef"
public let kSecClassKey: CFString = "keys"
public let kSecClassCertificate: CFString = "cert"
public let kSecClassIdentity: CFString = "idnt"

// MARK: Values

public let kSecClassGenericPassword: CFString = "genericPassword"
public let kSecClassInternetPassword: CFString = "internetPassword"
public let kSecMatchLimitOne: CFString = "matchLimitOne"
public let kSecMatchLimitAll: CFString = "matchLimitAll"
public let kSecAttrSynchronizableAny: CFString = "synchronizableAny"
public let kSecUseAuthenticationUIFail: CFString = "fail"
public let kSecUseAuthenticationUIAllow: CFString = "allow"
public let kSecUseAuthenticationUISkip: CFString = "skip"
public let kSecAttrAccessibleWhenUnlocked: CFString = "whenUnlocked"
public let kSecAttrAccessibleAfterFirstUnlock: CFString = "afterFirstUnlock"
public let kSecAttrAccessibleAlways: CFString = "always"
public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "whenPasscodeSetThisDeviceOnly"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "whenUnlockedThisDeviceOnly"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "afterFirstUnlockThisDeviceOnly"
public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "alwaysThisDeviceOnly"
public let kSecAttrProtocolFTP: CFString = "ftp"
public let kSecAttrProtocolFTPS: CFString = "ftps"
public let kSecAttrProtocolHTTP: CFString = "http"
public let kSecAttrProtocolHTTPS: CFString = "https"
public let kSecAttrProtocolIMAP: CFString = "imap"
public let kSecAttrProtocolIMAPS: CFString = "imaps"
public let kSecAttrProtocolLDAP: CFString = "ldap"
public let kSecAttrProtocolLDAPS: CFString = "ldaps"
public let kSecAttrProtocolPOP3: CFString = "pop3"
public let kSecAttrProtocolPOP3S: CFString = "pop3s"
public let kSecAttrProtocolSMB: CFString = "smb"
public let kSecAttrProtocolSMTP: CFString = "smtp"
public let kSecAttrProtocolSSH: CFString = "ssh"
public let kSecAttrProtocolTelnet: CFString = "telnet"
public let kSecAttrProtocolTelnetS: CFString = "telnets"
public let kSecAttrProtocolFTPAccount: CFString = "ftpaccount"
public let kSecAttrProtocolFTPProxy: CFString = "ftpproxy"
public let kSecAttrProtocolHTTPProxy: CFString = "httpproxy"
public let kSecAttrProtocolHTTPSProxy: CFString = "httpsproxy"
public let kSecAttrProtocolRTSP: CFString = "rtsp"
public let kSecAttrProtocolRTSPProxy: CFString = "rtspproxy"
public let kSecAttrProtocolSOCKS: CFString = "socks"
public let kSecAttrProtocolIRC: CFString = "irc"
public let kSecAttrProtocolIRCS: CFString = "ircs"
public let kSecAttrProtocolNNTP: CFString = "nntp"
public let kSecAttrProtocolNNTPS: CFString = "nntps"
public let kSecAttrProtocolAFP: CFString = "afp"
public let kSecAttrProtocolAppleTalk: CFString = "appletalk"
public let kSecAttrProtocolDAAP: CFString = "daap"
public let kSecAttrProtocolEPPC: CFString = "eppc"
public let kSecAttrProtocolIPP: CFString = "ipp"
public let kSecAttrAuthenticationTypeDefault: CFString = "default"
public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "basic"
public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "digest"
public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
public let kSecAttrAuthenticationTypeMSN: CFString = "msn"
public let kSecAttrAuthenticationTypeDPA: CFString = "dpa"
public let kSecAttrAuthenticationTypeRPA: CFString = "rpa"

// MARK: Statuses

public let noErr: OSStatus = KeychainStatus.success.rawValue
public let errSecSuccess: OSStatus = KeychainStatus.success.rawValue
public let errSecUnimplemented: OSStatus = KeychainStatus.unimplemented.rawValue
public let errSecIO: OSStatus = KeychainStatus.inputOutput.rawValue
public let errSecParam: OSStatus = KeychainStatus.param.rawValue
public let errSecAllocate: OSStatus = KeychainStatus.allocate.rawValue
public let errSecInternalComponent: OSStatus = KeychainStatus.internalComponent.rawValue
public let errSecNotAvailable: OSStatus = KeychainStatus.notAvailable.rawValue
public let errSecReadOnly: OSStatus = KeychainStatus.readOnly.rawValue
public let errSecAuthFailed: OSStatus = KeychainStatus.authFailed.rawValue
public let errSecDuplicateItem: OSStatus = KeychainStatus.duplicateItem.rawValue
public let errSecItemNotFound: OSStatus = KeychainStatus.itemNotFound.rawValue
public let errSecInteractionNotAllowed: OSStatus = KeychainStatus.interactionNotAllowed.rawValue
public let errSecDecode: OSStatus = KeychainStatus.decode.rawValue
public let errSecMissingEntitlement: OSStatus = KeychainStatus.missingEntitlement.rawValue

// Wrappers name these, but no call here returns them.
public let errSecUserCanceled: OSStatus = -128
public let errSecNoSuchAttr: OSStatus = -25303
