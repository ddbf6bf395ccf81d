// One import provides the store, its typed values and their archives.
@_exported public import KeyedArchives
@_exported public import SecureCoding
@_exported public import Vault
