// swift-tools-version: 6.2

import PackageDescription

// A package of its own, so that nobody who uses Vault resolves or builds what only measuring needs.
let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "vault", path: "..")],
  targets: [
    .executableTarget(name: "InProcess", dependencies: [.product(name: "Vault", package: "vault")]),
    .executableTarget(name: "Archives", dependencies: [.product(name: "SecureCoding", package: "vault")]),
  ]
)
