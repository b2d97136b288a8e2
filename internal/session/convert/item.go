package convert

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/transcript"
)

// item is a transcript item under construction. Its texts are JSON strings copied from the source,
// with their escapes.
type item struct {
	id     string
	role   transcript.Role
	time   time.Time
	model  []byte // literal, or nil
	finish transcript.Finish
	usage  *transcript.Usage
	parts  []part

	line  int            // line of the source where the item starts
	kept  []originalLine // the lines that the item was made from
	again bool           // the transcript restarts with it: everything before was compacted
}

// part is one part of an item. Its JSON is written together with the item, so that long texts are
// copied only once.
type part struct {
	kind        partKind
	json        []byte // the whole part as JSON, its text as a JSON string, or the input of a tool use as JSON
	name        []byte // name of a tool, as a JSON string
	use, result string // the id of the tool use; for a result, the id of the tool use it answers
	content     []part // parts of a tool result
	isError     bool
	raw         []byte // the source's form, for parts without a partner
}

type partKind uint8

// The kinds of parts.
const (
	wholePart partKind = iota // json is the whole part
	textKind
	useKind
	resultKind
)

func (p *part) append(b []byte) []byte {
	switch p.kind {
	case textKind:
		b = append(b, `{"type":"text","text":`...)
		b = append(b, p.json...)
	case useKind:
		b = append(b, `{"type":"tool_use","id":`...)
		b = jsonscan.AppendString(b, p.use)
		b = appendField(b, `,"name":`, p.name)
		b = append(b, `,"input":`...)
		b = append(b, p.json...)
	case resultKind:
		b = append(b, `{"type":"tool_result","use_id":`...)
		b = jsonscan.AppendString(b, p.result)
		b = append(b, `,"content":[`...)
		b = append(appendParts(b, p.content), ']')
		if p.isError {
			b = append(b, `,"is_error":true`...)
		}
	default:
		return append(b, p.json...)
	}
	return append(b, '}')
}

func appendParts(b []byte, parts []part) []byte {
	for i := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = parts[i].append(b)
	}
	return b
}

// ident identifies items: items made from the same source have the same ident.
type ident [16]byte

func (it *item) ident() ident { return identOf(it.head(nil), it.again) }

func identOf(head []byte, again bool) (i ident) {
	h := sha256.New()
	h.Write(head)
	if again {
		h.Write([]byte{1})
	}
	copy(i[:], h.Sum(nil))
	return i
}

// append writes the item in its canonical form, with its original lines, and fills s with its
// strings.
func (it *item) append(b []byte, keep []originalLine, s *stringTable) []byte {
	start := len(b)
	b = it.head(b)
	if len(keep) > 0 {
		s.fill(b[start:])
	}
	b = append(b, `,"metadata":{"`+metadataKey+`":`...)
	b = appendOriginals(b, keep, s)
	return append(b, "}}"...)
}

// head writes the part of the item before its metadata.
func (it *item) head(b []byte) []byte {
	b = append(b, `{"role":"`...)
	b = append(b, it.role...)
	b = append(b, `","id":`...)
	b = jsonscan.AppendString(b, it.id)
	if !it.time.IsZero() {
		b = append(b, `,"time":"`...)
		b = it.time.AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	if it.model != nil {
		b = append(b, `,"model":`...)
		b = append(b, it.model...)
	}
	if it.finish != "" {
		b = append(b, `,"finish":"`...)
		b = append(b, it.finish...)
		b = append(b, '"')
	}
	if u := it.usage; u != nil {
		b = append(b, `,"usage":{"input":`...)
		b = strconv.AppendInt(b, u.Input, 10)
		b = append(b, `,"output":`...)
		b = strconv.AppendInt(b, u.Output, 10)
		for _, f := range [...]struct {
			name string
			n    int64
		}{{`,"cache_read":`, u.CacheRead}, {`,"cache_write":`, u.CacheWrite}, {`,"reasoning":`, u.Reasoning}} {
			if f.n != 0 {
				b = append(b, f.name...)
				b = strconv.AppendInt(b, f.n, 10)
			}
		}
		b = append(b, '}')
	}
	b = append(b, `,"parts":[`...)
	return append(appendParts(b, it.parts), ']')
}

func (it *item) answers() bool {
	return slices.ContainsFunc(it.parts, func(p part) bool { return p.result != "" })
}

func (it *item) calls() bool {
	return slices.ContainsFunc(it.parts, func(p part) bool { return p.use != "" })
}

// textPart returns a text part for a literal.
func textPart(lit []byte) part { return part{kind: textKind, json: lit} }

// customPart returns a part that is not sent to models.
func customPart(kind string, value []byte) part {
	b := append(make([]byte, 0, len(value)+64), `{"type":"custom","kind":`...)
	b = jsonscan.AppendString(b, kind)
	b = append(b, `,"value":`...)
	return part{json: append(append(b, value...), '}')}
}

func usePart(id string, name, input, raw []byte) part {
	if len(input) == 0 {
		input = []byte("{}")
	}
	return part{kind: useKind, use: id, name: name, json: input, raw: raw}
}

func resultPart(id string, content []part, isError bool, raw []byte) part {
	return part{kind: resultKind, result: id, content: content, isError: isError, raw: raw}
}

// stamp reads a time, or returns zero if it is not a time or has no year of four digits.
func stamp(lit []byte) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text(lit))
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// dated is like stamp, but adds a warning for an invalid date.
func dated(lit []byte, n int, warn func(int, string, ...any)) time.Time {
	t := stamp(lit)
	if t.IsZero() && len(lit) > 0 && string(lit) != "null" {
		warn(n, "invalid date %s: another date was used", clipped(lit))
	}
	return t
}

// clipped shortens a JSON string for a warning.
func clipped(lit []byte) string {
	return truncate.String(string(lit), 60)
}

func number(v []byte) int64 {
	n, _ := strconv.ParseInt(string(v), 10, 64)
	return max(n, 0)
}
