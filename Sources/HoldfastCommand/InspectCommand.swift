import Holdfast
enum InspectCommand { static func run(_ a: Arguments, _ o: Output) throws(UsageError) -> Int32 { 0 } }
enum VerifyCommand { static func run(_ a: Arguments, _ o: Output) throws(UsageError) -> Int32 { 0 } }
enum ListCommand { static func run(_ a: Arguments, _ o: Output) throws(UsageError) -> Int32 { 0 } }
