import Holdfast

/// `holdfast devices`.
enum DevicesCommand {
  static func run(_ arguments: Arguments, _ output: Output) throws(UsageError) -> Int32 {
    guard arguments.operands.isEmpty else { throw UsageError("devices takes no operand") }
    let devices = ALSADevices.list()
    if arguments.has("--json") {
      for device in devices { output.json(json(device)) }
      return 0
    }
    guard !devices.isEmpty else {
      output.line("no sound device that can record")
      return 0
    }
    let table = Table(
      [Table.Column("STATE", 9), Table.Column("KIND", 12, rank: 2), Table.Column("DEFAULT", 9, rank: 1)],
      output.style)
    output.line(table.header)
    for device in devices {
      output.line(
        table.row(
          [
            Words.state(device.status.rawValue), Table.Cell(device.kind.rawValue),
            Table.Cell(device.isDefault ? "default" : "-"),
          ], device.id.display))
      output.lines(table.note(device.description))
      if let offer = device.offer { output.lines(table.note(offer.text, .faint)) }
    }
    return 0
  }

  private static func json(_ device: ALSADevice) -> JSON {
    var fields: [(String, JSON)] = [("id", .string(device.id.text))]
    if !device.id.isUTF8 { fields.append(("id_hex", .string(device.id.hex))) }
    fields += [
      ("description", .string(device.description)), ("default", .bool(device.isDefault)),
      ("monitor", .bool(device.isMonitor)), ("kind", .string(device.kind.rawValue)),
      ("status", .string(device.status.rawValue)), ("busy", .bool(device.status == .busy)),
    ]
    if let offer = device.offer {
      fields += [
        ("formats", .array(offer.formats.map { .string($0) })),
        ("rates", .array(offer.rates.map { .int(Int64($0)) })),
        (
          "channels",
          .array([.int(Int64(offer.channels.lowerBound)), .int(Int64(offer.channels.upperBound))])
        ),
      ]
    }
    return .object(fields)
  }
}
