package convert

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// metadataKey is the metadata key for the original lines of an imported item.
const metadataKey = "import"

// importedEvent is the event of a workspace.event record with lines that became no item.
const importedEvent = "imported"

// originalLine is an unchanged line of a source, without its line break.
type originalLine struct {
	n      int // counted from 1
	raw    []byte
	clean  bool // known to be UTF-8 JSON without white space between its tokens
	masked bool // secrets in raw were masked
}

// mask masks the secrets of a line that is not stored as JSON: inside the record, escapes or
// base64 would hide them from the mask. An invalid UTF-8 line with a secret loses its invalid
// bytes.
func (k *originalLine) mask(mask *secret.Masker) {
	if mask == nil || k.clean {
		return
	}
	raw := k.raw
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	from := max(bytes.IndexByte(raw, '{'), 0)
	to := jsonscan.ValueEnd(raw, from)
	if valid, _ := check(raw[from:max(from, to)]); valid {
		masked, found := mask.JSON(raw[from:to])
		if k.masked = len(found) > 0; k.masked {
			raw = slices.Concat(raw[:from], masked, raw[to:])
		}
	}
	if text, found := mask.Text(string(raw)); len(found) > 0 {
		k.masked, raw = true, []byte(text)
	}
	if k.masked {
		k.raw = raw
	}
}

// appendOriginal writes a line: as JSON if that keeps its bytes, else as a string, else in
// base64. Strings of the JSON that are already in s are left out.
func appendOriginal(b []byte, k originalLine, s *stringTable) []byte {
	b = append(b, `{"n":`...)
	b = strconv.AppendInt(b, int64(k.n), 10)
	isText := k.clean || utf8.Valid(k.raw)
	valid, compact := k.clean, k.clean
	if isText && !k.clean {
		valid, compact = check(k.raw)
	}
	switch {
	case valid && compact:
		b = s.appendLine(b, k.raw)
	case isText:
		b = append(b, `,"text":`...)
		b = jsonscan.AppendString(b, string(k.raw))
	default:
		b = append(b, `,"base64":"`...)
		b = base64.StdEncoding.AppendEncode(b, k.raw)
		b = append(b, '"')
	}
	return append(b, '}')
}

func appendOriginals(b []byte, all []originalLine, s *stringTable) []byte {
	b = append(b, '[')
	for i, k := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendOriginal(b, k, s)
	}
	return append(b, ']')
}

// readOriginals reads the result of appendOriginals. item is the item made from the lines, or nil.
func readOriginals(array, item []byte, do func(originalLine) error) error {
	var (
		fault error
		have  *itemStrings
	)
	elements(array, func(v []byte) bool {
		var (
			k     originalLine
			short []byte
			of    int
			ok    bool
		)
		eachMember(v, func(key, v []byte) bool {
			switch string(key) {
			case "n":
				k.n, _ = strconv.Atoi(string(v))
			case "json":
				k.raw, ok = v, true
			case "short":
				short = v
			case "of":
				of, _ = strconv.Atoi(string(v))
			case "text":
				var s string
				s, ok = str(v)
				k.raw = []byte(s)
			case "base64":
				var err error
				k.raw, err = base64.StdEncoding.DecodeString(text(v))
				ok = err == nil
			}
			return true
		})
		if short != nil {
			if have == nil {
				have = newItemStrings(item)
			}
			k.raw = have.fill(short, of)
			ok = k.raw != nil
		}
		if !ok || k.n < 1 {
			fault = fmt.Errorf("a stored original line cannot be read")
		} else {
			fault = do(k)
		}
		return fault == nil
	})
	return fault
}

// unmappedDraft returns the record of lines that became no item.
func unmappedDraft(f Format, all []originalLine) session.Draft {
	b := append([]byte(nil), `{"event":"`+importedEvent+`","format":"`+string(f)+`","lines":`...)
	b = appendOriginals(b, all, nil)
	return session.Draft{Kind: record.KindWorkspaceEvent, Payload: append(b, '}')}
}

// originalLines yields the lines that a record stores, if it belongs to an import of this
// format.
func originalLines(r *session.Record, f Format, do func(originalLine) error) error {
	switch r.Kind {
	case record.KindWorkspaceEvent:
		if text(field(r.Payload, "event")) == importedEvent && text(field(r.Payload, "format")) == string(f) {
			return readOriginals(field(r.Payload, "lines"), nil, do)
		}
	case session.KindItem:
		item := field(r.Payload, "item")
		return readOriginals(originalOf(item), item, do)
	case record.KindRewrite:
		var fault error
		elements(field(r.Payload, "items"), func(item []byte) bool {
			fault = readOriginals(originalOf(item), item, do)
			return fault == nil
		})
		return fault
	}
	return nil
}

// originalOf returns the source of an item, or nil if the item was not imported.
func originalOf(item []byte) []byte { return field(field(item, "metadata"), metadataKey) }

// vendorMapping is the payload of the vendor.mapped record that ends every batch of an import:
// the session's identity in its program and how much of its file was read.
type vendorMapping struct {
	Vendor  string         `json:"vendor"`  // claude-code, codex, open-agent-sdk
	Session string         `json:"session"` // the session's id in that program
	Format  Format         `json:"format"`
	File    string         `json:"file"`  // name of the file and of its folder
	Bytes   int64          `json:"bytes"` // number of bytes read from the start of the file
	Lines   int            `json:"lines"` // number of lines in these bytes
	SHA256  session.Digest `json:"sha256"`
	Open    bool           `json:"open,omitempty"`   // the last line has no line break
	Masked  int            `json:"masked,omitempty"` // number of lines with masked secrets so far
}

func (m *vendorMapping) draft() (session.Draft, error) {
	return session.NewDraft(record.KindVendorMapped, m)
}

// readMapping reads a record's mapping; ok is false if the record does not belong to an
// import.
func readMapping(r *session.Record) (m vendorMapping, ok bool) {
	if r.Kind != record.KindVendorMapped || json.Unmarshal(r.Payload, &m) != nil {
		return m, false
	}
	return m, m.Format != "" && m.File != ""
}
