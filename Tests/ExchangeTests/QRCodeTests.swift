import Testing

@testable import Exchange

@Suite struct QRCodeTests {
  /// The output of `qrencode -8 -m 0 -t ASCII` in Debian 12, with one character per module.
  @Test func `a short text makes the same code as qrencode`() throws {
    let code = try #require(QRCode(Array("HELLO".utf8), level: .medium, mask: 3))
    #expect(
      rows(code)
        == """
        #######.#..#..#######
        #.....#.####..#.....#
        #.###.#...#.#.#.###.#
        #.###.#.#.#.#.#.###.#
        #.###.#....#..#.###.#
        #.....#....##.#.....#
        #######.#.#.#.#######
        ........#..##........
        #.##.###.#.##.#..#.##
        .##.##.#.######..##..
        #...#.#..#.#.......##
        #.##...#...#..####.#.
        .#.######...#..#..#.#
        ........####..#...#.#
        #######.#..##..#.....
        #.....#.#.#....#####.
        #.###.#.....######.##
        #.###.#.#.##..#.####.
        #.###.#.##..#.##..#..
        #.....#...#..#.##...#
        #######.#.#..#.#.....
        """.split(separator: "\n").map(String.init))
  }

  /// The sums are of the output of `qrencode -8 -v VERSION -l LEVEL`, with the mask that it chose.
  @Test func `codes of every version and level equal those of qrencode`() throws {
    for version in 1...40 {
      for (level, sums) in [(QRCode.Level.low, sumsOfLow), (.medium, sumsOfMedium)] {
        let text = String(repeating: "vault:\(version);", count: version == 1 ? 1 : version * version / 9 + 1)
        let (mask, known) = sums[version - 1]
        let code = try #require(QRCode(Array(text.utf8), least: version, level: level, mask: mask))
        #expect(code.version == version && sum(code) == known, "version \(version), \(level)")
      }
    }
  }

  @Test(arguments: [
    (14, 1, QRCode.Level.medium), (15, 1, .low), (17, 1, .low), (18, 2, .medium), (27, 2, .low), (33, 3, .medium),
  ])
  func `the smallest version is used, with a better level if it fits`(
    count: Int, version: Int, level: QRCode.Level
  ) throws {
    let code = try #require(QRCode([UInt8](repeating: 0x61, count: count)))
    #expect(code.version == version && code.level == level)
  }

  @Test func `a text that is too large makes no code`() {
    #expect(QRCode([UInt8](repeating: 0, count: QRCode.largestByteCount))?.version == 40)
    #expect(QRCode([UInt8](repeating: 0, count: QRCode.largestByteCount + 1)) == nil)
  }

  @Test func `an empty value makes a code`() throws {
    #expect(try #require(QRCode([])).version == 1)
  }

  @Test func `modules outside the code are light`() throws {
    let code = try #require(QRCode([1]))
    #expect(code.isDark(column: 0, row: 0))
    #expect(!code.isDark(column: -1, row: 0) && !code.isDark(column: 0, row: code.size))
  }

  private func rows(_ code: QRCode) -> [String] {
    (0..<code.size).map { row in String((0..<code.size).map { code.isDark(column: $0, row: row) ? "#" : "." }) }
  }

  /// FNV-1a, 64 bits.
  private func sum(_ code: QRCode) -> String {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in rows(code).joined().utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return String(sum, radix: 36)
  }

  private let sumsOfLow = [
    (7, "3r6q7tfppukan"), (0, "2514mvgmjs4mt"), (1, "p2xr9n5xcgsb"), (0, "caaiww7zm7nr"), (1, "3d6c9f1akps5v"),
    (4, "1otz7y2h3we76"), (4, "3263war5ok1cj"), (4, "1qpuv4yabmikb"), (2, "3mi0jqdccw5dd"), (2, "3ftru2cpa1xpj"),
    (2, "1ettbjq5u4x1h"), (2, "1anjkwo3s0c39"), (2, "1o2ohh1jk9961"), (2, "224tatw7rnbx9"), (2, "10b5pfeo4k52t"),
    (2, "3f30ajb6gqf3y"), (2, "jm1fxd1e1tvx"), (2, "3q8op72oj3qfb"), (4, "17s22gpozprir"), (2, "3izbhlr173cnl"),
    (4, "1f5yjlkdy321r"), (2, "26jokmp08udjd"), (4, "2cl2pznnambtn"), (2, "tsv6hx7o0xpd"), (4, "18dn8h78hftev"),
    (2, "1c4lsuauzkmy1"), (4, "329hxhob7n8tz"), (2, "1e4xi4v19u4j2"), (2, "1jcycg0hitwy3"), (2, "1d5zth2kpannh"),
    (2, "2z96zcc1wdwho"), (2, "1sn7qrmefktl2"), (2, "cd2lngsz3bo0"), (2, "1oh6axz1hlvel"), (2, "2clpgdlt8annp"),
    (2, "264l40isb6211"), (4, "3q067hb25gy5d"), (0, "3b2zpb424kqfv"), (2, "19m8mzjen56hp"), (2, "i731c1xy4ktx"),
  ]
  private let sumsOfMedium = [
    (0, "3l5etni2xiufl"), (3, "1t6wngqa4u1hz"), (1, "2srn2gtzn0tvb"), (0, "194gt7lvz2wzl"), (6, "2dkqwc215kwef"),
    (2, "2849f6pf6hcz0"), (2, "1evil6fggnhpn"), (2, "12bw1ol17yqc7"), (2, "2u0tmdc1od84x"), (2, "14wvf2xabjcz7"),
    (2, "31u31mo4mmudn"), (2, "4f7dp7atequj"), (2, "hbuuqxa4ekqn"), (2, "2jl2chtzu95qp"), (4, "gu5gvs4cd83a"),
    (2, "x6lve2arjmk4"), (2, "278ge4iksfjp1"), (2, "31eak5e9nebmd"), (2, "t0jsfuflocbd"), (2, "1nuefdqzulhm3"),
    (2, "qrv56t4iwceb"), (4, "ey9ek86pmmsj"), (2, "1ayoh9cpyzavd"), (4, "2iaux69tognnv"), (2, "1lbhhl45qqyk5"),
    (4, "1qllpliycq2ab"), (2, "32j1i3lttgjl1"), (2, "22rlpycekjyge"), (2, "2ftloox0zq9kt"), (2, "2xigtxkpkfptv"),
    (2, "3jxs87chn6qz0"), (2, "p9a5a5ip4que"), (2, "1x7mbb5womt8a"), (2, "3ptvuorpj7t5n"), (2, "323ld4ja1owhv"),
    (2, "28vcbulbv9m9"), (2, "2p07kb5700djb"), (2, "2e1146f53hx2f"), (2, "2wu2lilcx46yt"), (2, "36kycrad3h27"),
  ]
}
