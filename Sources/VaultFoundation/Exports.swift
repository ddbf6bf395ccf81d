// One import gives the store, the values in it and the archives that they are kept in.
@_exported public import KeyedArchives
@_exported public import SecureCoding
@_exported public import Vault
