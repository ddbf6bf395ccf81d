// swift-tools-version: 6.2

import PackageDescription

// A package of somebody else's: it names this one by path. Its programs are the example of README.md, actors that call
// the library, and one that is linked statically.
let package = Package(
  name: "consumer",
  dependencies: [.package(name: "vault", path: "../..")],
  targets: [
    .executableTarget(
      name: "Consumer",
      dependencies: [
        .product(name: "Vault", package: "vault"), .product(name: "SecureCoding", package: "vault"),
        .product(name: "KeychainItems", package: "vault"),
      ]),
    .executableTarget(name: "Isolation", dependencies: [.product(name: "Vault", package: "vault")]),
    .executableTarget(
      name: "StaticLinking",
      dependencies: [
        .product(name: "Vault", package: "vault"), .product(name: "SecureCoding", package: "vault"),
        .product(name: "KeychainItems", package: "vault"),
      ]),
  ]
)
