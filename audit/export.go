package audit

import (
	"errors"
	"io"
	"iter"
)

// Formats of [Export].
const (
	FormatJSONL       = "jsonl"       // entries, one canonical JSON object a line
	FormatCSV         = "csv"         //
	FormatOCSF        = "ocsf"        // Open Cybersecurity Schema Framework events, one a line
	FormatCloudEvents = "cloudevents" // CloudEvents 1.0 JSON, one a line
	FormatHTML        = "html"        // one page that needs nothing else
)

// Export writes entries in a format.
func Export(w io.Writer, format string, entries iter.Seq2[Entry, error]) error {
	return errors.New("audit: not built")
}
