/// Sums and products of numbers out of hostile bytes: the largest number where they overflow.
extension Int {
  package func saturatingSum(_ other: Int) -> Int {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }

  package func saturatingProduct(_ other: Int) -> Int {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return overflows ? .max : product
  }
}
