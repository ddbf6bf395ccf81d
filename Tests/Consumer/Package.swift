// swift-tools-version: 6.2

import PackageDescription

// A package of somebody else's: it names this one by path, and its program is the example of README.md.
let package = Package(
  name: "consumer",
  dependencies: [.package(name: "vault", path: "../..")],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Vault", package: "vault"), .product(name: "SecureCoding", package: "vault"),
        .product(name: "KeychainItems", package: "vault"),
      ])
  ]
)
