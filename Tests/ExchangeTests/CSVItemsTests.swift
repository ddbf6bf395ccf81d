import Testing

@testable import Exchange

@Suite struct CSVItemsTests {
  private func items(_ text: String) throws -> [[String]] {
    try CSVItems.items(of: text).items.map {
      [$0.name, $0.kind.rawValue, String(decoding: $0.value, as: UTF8.self), $0.label ?? "", $0.place]
    }
  }

  @Test func `a table of names and values is read with the quotes of RFC 4180`() throws {
    let text = "\u{FEFF}Name,Value\r\na,1\r\n\"b, c\",\"two \"\"lines\"\"\r\nhere\"\r\n\r\nd,\nlast,x\"y"
    #expect(
      try items(text) == [
        ["a", "string", "1", "", "line 2"], ["b, c", "string", "two \"lines\"\r\nhere", "", "line 3"],
        ["d", "string", "", "", "line 6"], ["last", "string", "x\"y", "", "line 7"],
      ])
  }

  @Test func `a table from Chrome becomes logins`() throws {
    let text = """
      name,url,username,password,note
      example.com,https://example.com/login,ann,"p,w",
      shop.test,https://shop.test/,,x,"two
      lines"
      """
    #expect(
      try items(text) == [
        [
          "example.com", "json", #"{"username":"ann","password":"p,w","url":"https://example.com/login"}"#, "ann",
          "line 2",
        ],
        ["shop.test", "json", #"{"password":"x","url":"https://shop.test/","notes":"two\nlines"}"#, "", "line 3"],
      ])
  }

  @Test func `a login from Firefox is named by its host, and its times are reported as lost`() throws {
    let text = """
      "url","username","password","httpRealm","formActionOrigin","guid","timeCreated","timeLastUsed","timePasswordChanged"
      "https://example.com:8443","ann","pw",,"https://example.com","{1}","1","2","3"
      """
    #expect(
      try items(text) == [
        [
          "example.com:8443", "json", #"{"username":"ann","password":"pw","url":"https://example.com:8443"}"#, "ann",
          "line 2",
        ]
      ])
    #expect(
      try CSVItems.items(of: text).losses == [
        "column 5 ('formActionOrigin'): 1 value", "column 6 ('guid'): 1 value", "column 7 ('timeCreated'): 1 value",
        "column 8 ('timeLastUsed'): 1 value", "column 9 ('timePasswordChanged'): 1 value",
      ])
  }

  @Test func `KeePassXC's groups become name prefixes, without the name of the database`() throws {
    let text = """
      "Group","Title","Username","Password","URL","Notes","TOTP","Icon","Last Modified","Created"
      "Root","Top","ann","pw","","","","0","2026-01-01","2026-01-01"
      "Root/Internet/Mail","Post","ann","pw","","","otpauth://totp/x?secret=MY","0","2026-01-01","2026-01-01"
      """
    let found = try CSVItems.items(of: text)
    #expect(found.items.map(\.name) == ["Top", "Internet/Mail/Post"])
    #expect(
      String(decoding: found.items[1].value, as: UTF8.self)
        == #"{"username":"ann","password":"pw","totp":"otpauth://totp/x?secret=MY"}"#)
    #expect(found.losses.count == 3)
  }

  @Test func `only the groups of KeePassXC lose their first folder, and only if all have the same`() throws {
    let plain = "Group,Title,Username,Password\nweb,Mail,ann,pw\nweb/sub,Post,ann,pw\n"
    #expect(try items(plain).map { $0[0] } == ["web/Mail", "web/sub/Post"])
    let several = "Group,Title,Username,Password,Icon\nweb,Mail,ann,pw,0\nhome/sub,Post,ann,pw,0\n"
    #expect(try items(several).map { $0[0] } == ["web/Mail", "home/sub/Post"])
    let without = "Group,Title,Username,Password,Created\n,Mail,ann,pw,\nhome/sub,Post,ann,pw,\n"
    #expect(try items(without).map { $0[0] } == ["Mail", "home/sub/Post"])
    #expect(throws: ImportFault("it has 1 fields, and the header 5", at: "line 2")) {
      try items("Password,Title,Username,Group,Icon\npw\n")
    }
  }

  @Test func `tables from Bitwarden and from Apple's Passwords become logins`() throws {
    let bitwarden = """
      folder,favorite,type,name,notes,fields,reprompt,login_uri,login_username,login_password,login_totp
      Work,1,login,Site,n,"PIN: 1",0,https://a.test,ann,pw,MY
      ,,note,Note,text,,0,,,,
      """
    #expect(
      try items(bitwarden).map { Array($0.prefix(3)) } == [
        [
          "Work/Site", "json",
          #"{"username":"ann","password":"pw","url":"https://a.test","notes":"n","totp":"MY","fields":"PIN: 1"}"#,
        ],
        ["Note", "json", #"{"notes":"text"}"#],
      ])
    let apple = "Title,URL,Username,Password,Notes,OTPAuth\na.test (ann),https://a.test/,ann,pw,,\n"
    #expect(try items(apple)[0][0] == "a.test (ann)")
  }

  @Test func `tables of 1Password, LastPass, Dashlane and NordPass become logins with folders and all fields`() throws {
    let onePassword = """
      Title,Url,Username,Password,OTPAuth,Favorite,Archived,Tags,Notes
      Site,https://a.test,ann,pw,otpauth://totp/a?secret=JBSWY3DPEHPK3PXP,false,false,x;y,note
      """
    #expect(
      try items(onePassword)[0][2]
        == #"{"username":"ann","password":"pw","url":"https://a.test","notes":"note","#
        + #""totp":"otpauth://totp/a?secret=JBSWY3DPEHPK3PXP","tags":"x;y"}"#)
    let lastPass = """
      url,username,password,totp,extra,name,grouping,fav
      https://a.test,ann,pw,,more,Site,Work\\Web,0
      http://sn,,,,the note,Note,,0
      """
    #expect(try items(lastPass).map { $0[0] } == ["Work/Web/Site", "Note"])
    #expect(try items(lastPass).map { $0[2] }.last == #"{"notes":"the note"}"#)
    let dashlane = """
      username,username2,username3,title,password,note,url,category,otpUrl
      ann,a@b.test,,Site,pw,,https://a.test,Web,
      """
    #expect(try items(dashlane)[0][0] == "Web/Site")
    #expect(
      try items(dashlane)[0][2]
        == #"{"username":"ann","password":"pw","url":"https://a.test","username2":"a@b.test"}"#)
    let nordPass = """
      name,url,additional_urls,username,password,note,cardholdername,cardnumber,cvc,pin,expirydate,zipcode,folder,full_name,\
      phone_number,email,address1,address2,city,country,state,type,custom_fields
      Card,,,,,,Ann,4111,123,,01/30,,Bank,,,,,,,,,credit_card,
      """
    #expect(
      try items(nordPass)[0].prefix(3)
        == ["Bank/Card", "json", #"{"cardholdername":"Ann","cardnumber":"4111","cvc":"123","expirydate":"01/30"}"#])
  }

  @Test func `only LastPass marks a note with an address`() throws {
    #expect(
      try items("name,url,password\na,http://sn,pw\n")[0][2] == #"{"password":"pw","url":"http://sn"}"#)
  }

  @Test func `accounts that share a name get the user's name or a number, and duplicates are dropped`() throws {
    let text = """
      name,username,password
      a,ann,1
      a,bob,2
      a,ann,3
      a,bob,2
      a,,4
      b,,5
      """
    let found = try CSVItems.items(of: text)
    #expect(found.items.map(\.name) == ["a (ann)", "a (bob)", "a (ann) (2)", "a", "b"])
    #expect(found.losses == ["line 5: it is the same as line 3"])
    #expect(try items("name,username,password\na,ann,1\na,ann,1\n").map { $0[0] } == ["a"])
    #expect(try items("name,value\na,1\na,2\na,3\na (2),4\n").map { $0[0] } == ["a", "a (3)", "a (4)", "a (2)"])
    let clash = "name,username,password\na,ann,1\na,bob,2\na (ann),eve,3\n"
    #expect(try items(clash).map { $0[0] } == ["a (ann) (2)", "a (bob)", "a (ann)"])
  }

  @Test func `the order of the rows does not decide which entry gets which number`() throws {
    let rows = ["a,https://z.test,ann,1", "a,https://y.test,ann,2", "a,,,4", "a,,,3"]
    func names(_ rows: [String]) throws -> [String: String] {
      let found = try items("name,url,username,password\n" + rows.joined(separator: "\n"))
      return Dictionary(uniqueKeysWithValues: found.map { ($0[0], $0[2]) })
    }
    let named = try names(rows)
    #expect(Set(named.keys) == ["a", "a (2)", "a (ann)", "a (ann) (2)"])
    #expect(try names(rows.reversed()) == named)
  }

  @Test func `two columns of the same name are both kept`() throws {
    #expect(
      try items("name,password,email,email\na,p,e1,e2\n") == [
        ["a", "json", #"{"password":"p","email":"e1","email (2)":"e2"}"#, "", "line 2"]
      ])
  }

  @Test func `a table with too many fields is refused before they become items`() throws {
    #expect(try CSVFile("name,value\na,1\n", mostFields: 4).rows.count == 2)
    #expect(throws: ImportFault("it has more than 4 fields", at: "line 3", .overLimit)) {
      try CSVFile("name,value\na,1\nb\n", mostFields: 4)
    }
  }

  @Test func `a login with only a name is reported as lost`() throws {
    let found = try CSVItems.items(of: "name,username,password\na,,\n")
    #expect(found.items.isEmpty && found.losses == ["line 2: it has only a name"])
  }

  @Test(arguments: [
    ("", nil, "it holds no header"), ("a,hunter2\n", "line 1", "the header names no column 'password' or 'value'"),
    ("user,password\na,hunter2", "line 1", "the header names no column 'name', 'title' or 'url'"),
    ("name,title,value\n", "line 1", "two columns of the header mean the same"),
    ("name,value\n\na,hunter2,x\n", "line 3", "it has 3 fields, and the header 2"),
    ("name,value\na\n", "line 2", "it has 1 fields, and the header 2"),
    ("name,value\na,\"x\ny\"hunter2\n", "line 3", "text follows a closing quote"),
    ("name,value\na,\"hunter2\nb,c", "line 2", "a quote is never closed"),
    ("name,value\n,hunter2\n", "line 2", "the entry has no name, address or user name; give it a name"),
  ]) func `a defect is reported with its line`(text: String, place: String?, words: String) {
    #expect(throws: ImportFault(words, at: place)) { try CSVItems.items(of: text) }
  }
}
