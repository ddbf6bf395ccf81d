/// What is wrong with a property list.
@nonexhaustive
public enum PropertyListDefect: String, Sendable {
  case truncated = "it ends too early"
  case trailer = "its trailer contradicts its size"
  case offset = "an offset points outside the objects"
  case overlap = "its objects overlap"
  case marker = "a byte is not the marker of any kind of value that archives hold"
  case reference = "a reference points outside the table"
  case size = "a size exceeds the bytes that are left"
  case containsItself = "a container contains itself"
  case keyNotAString = "a key is not a string"
  case keyTwice = "a dictionary has the same key twice"
  case text = "a string is not valid in its encoding"
  case encoding = "its encoding is not UTF-8"
  case markup = "its markup is not well formed"
  case entity = "it declares or uses an entity of its own"
  case element = "an element does not belong in a property list"
  case mismatch = "an end tag does not match"
  case number = "a number cannot be read"
  case date = "a date cannot be read"
  case base64 = "data is not valid base64"
  case trailing = "something follows the end"
  case json = "it is not the JSON of an archive"
}

/// What is wrong with the structure of a keyed archive.
@nonexhaustive
public enum ArchiveDefect: String, Sendable {
  case topIsNotADictionary = "the property list is not a dictionary"
  case noArchiver = "'$archiver' is missing or not a string"
  case foreignArchiver = "'$archiver' names another archiver"
  case noVersion = "'$version' is missing or not an integer"
  case otherVersion = "'$version' is not 100000"
  case noObjects = "'$objects' is missing or not an array"
  case noNull = "the first object is not '$null'"
  case noTop = "'$top' is missing or not a dictionary"
  case referenceOutOfRange = "a reference points outside the table of objects"
  case referenceToClass = "a reference points to the description of a class"
  case containerInTable = "the table of objects holds an array"
  case noClass = "an object has no '$class'"
  case classIsNotAReference = "an object's '$class' is not a reference"
  case classIsNotAClass = "an object's '$class' does not lead to the description of a class"
  case noClassName = "the description of a class has no '$classname'"
  case classNameNotAString = "'$classname' is not a string"
  case classesNotStrings = "'$classes' is not an array of strings"
  case hintsNotStrings = "'$classhints' is not an array of strings"
}

/// What is wrong with an archive of the StructArchiver library.
@nonexhaustive
public enum StructArchiveDefect: String, Sendable {
  case truncated = "it ends too early"
  case identifier = "the name of a type is not valid"
  case length = "a length does not match the bytes that are left"
  case text = "a string is not valid UTF-8"
  case trailing = "something follows the end"
  case key = "a key is not a string"
}
