/// The digits behind a decimal point. Seconds before 2001 are negative while the fraction of a second in a date is
/// positive, and converting between the two in binary floating point would not be exact.
struct DecimalFraction: Equatable {
  /// ASCII digits without trailing zeros.
  let digits: Substring

  init(_ digits: some StringProtocol) {
    var digits = Substring(digits)
    while digits.last == "0" { digits.removeLast() }
    self.digits = digits
  }

  var isZero: Bool { digits.isEmpty }

  /// One minus this fraction; zero for zero.
  var complement: DecimalFraction {
    guard let last = digits.last, let value = last.wholeNumberValue else { return self }
    let nines = digits.dropLast().map { String(9 - ($0.wholeNumberValue ?? 0)) }.joined()
    return DecimalFraction(nines + String(10 - value))
  }

  /// The whole part and the fraction of a non-negative number below 2^53, from its shortest decimal form.
  static func parts(of number: Double) -> (whole: Int64, fraction: DecimalFraction) {
    let parts = number.description.split(separator: "e")
    let exponent = parts.count == 2 ? Int(parts[1]) ?? 0 : 0
    let halves = parts[0].split(separator: ".")
    let fraction = halves.count == 2 ? halves[1] : ""
    guard exponent < 0 else { return (Int64(number), DecimalFraction(fraction)) }
    // A number with a negative exponent is below one.
    return (0, DecimalFraction(String(repeating: "0", count: -exponent - 1) + halves[0] + fraction))
  }
}
