package convert

// What the external tests call.
var (
	AppendRecord = appendRecord
	Exportable   = exportableFormats
	Importable   = importableFormats
)
