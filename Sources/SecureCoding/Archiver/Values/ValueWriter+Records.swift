import Foundation
import KeyedArchives

extension ValueWriter {
  /// Errors, notifications and person names.
  static let records = [
    ValueWriter(NSError.self, "NSError") { error, fields throws(ArchiveError) in
      fields.object("NSDomain", error.domain)
      fields.integer("NSCode", error.code)
      fields.object("NSUserInfo", error.userInfo.isEmpty ? nil : error.userInfo)
    },
    ValueWriter(NSNotification.self, "NSNotification") { notification, fields throws(ArchiveError) in
      fields.object("NS.name", notification.name.rawValue)
      fields.object("NS.object", notification.object)
      fields.object("NS.userinfo", notification.userInfo)
    },
    ValueWriter(NSPersonNameComponents.self, "NSPersonNameComponents") { name, fields throws(ArchiveError) in
      fields.object("NS.namePrefix", name.namePrefix)
      fields.object("NS.givenName", name.givenName)
      fields.object("NS.middleName", name.middleName)
      fields.object("NS.familyName", name.familyName)
      fields.object("NS.nameSuffix", name.nameSuffix)
      fields.object("NS.nickname", name.nickname)
    },
  ]
}
