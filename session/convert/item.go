package convert

import (
	"crypto/sha256"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// item is a transcript item in the making. Text goes into it as the literal that it
// was in the source, escapes and all.
type item struct {
	id     string
	role   transcript.Role
	time   time.Time
	model  []byte // literal, or nil
	finish transcript.Finish
	usage  *transcript.Usage
	parts  []part

	line  int    // where it begins
	kept  []kept // the lines that it was made of
	again bool   // the transcript begins anew with it: what was before was compacted
}

// part is one part of an item: its JSON, and the id of the tool use that it is or answers.
type part struct {
	json        []byte
	use, result string
	raw         []byte // what the source has, for parts that do not pair
}

// ident tells items apart: the same source gives the same.
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

// encode writes the item in its canonical form, with lines that it keeps.
func (it *item) encode(keep []kept) []byte {
	n := 512
	for _, p := range it.parts {
		n += len(p.json)
	}
	for _, k := range keep {
		n += len(k.raw) + 32
	}
	b := it.head(make([]byte, 0, n))
	b = append(b, `,"metadata":{"`+metadataKey+`":`...)
	b = appendAllKept(b, keep)
	return append(b, "}}"...)
}

// head is the item up to its metadata.
func (it *item) head(b []byte) []byte {
	b = append(b, `{"role":"`...)
	b = append(b, it.role...)
	b = append(b, `","id":`...)
	b = transcript.AppendString(b, it.id)
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
	for i, p := range it.parts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, p.json...)
	}
	return append(b, ']')
}

func (it *item) has(what func(part) bool) bool {
	for _, p := range it.parts {
		if what(p) {
			return true
		}
	}
	return false
}

func (it *item) answers() bool { return it.has(func(p part) bool { return p.result != "" }) }
func (it *item) calls() bool   { return it.has(func(p part) bool { return p.use != "" }) }

// textPart is a text part of a literal.
func textPart(lit []byte) part {
	b := append(make([]byte, 0, len(lit)+32), `{"type":"text","text":`...)
	return part{json: append(append(b, lit...), '}')}
}

func plainPart(s string) part { return textPart(transcript.AppendString(nil, s)) }

// customPart keeps what models are not shown.
func customPart(kind string, value []byte) part {
	b := append(make([]byte, 0, len(value)+64), `{"type":"custom","kind":`...)
	b = transcript.AppendString(b, kind)
	b = append(b, `,"value":`...)
	return part{json: append(append(b, value...), '}')}
}

func usePart(id string, name, input, raw []byte) part {
	b := append(make([]byte, 0, len(input)+96), `{"type":"tool_use","id":`...)
	b = transcript.AppendString(b, id)
	if len(name) > 2 {
		b = append(b, `,"name":`...)
		b = append(b, name...)
	}
	b = append(b, `,"input":`...)
	if len(input) == 0 {
		input = []byte("{}")
	}
	return part{json: append(append(b, input...), '}'), use: id, raw: raw}
}

// resultPart answers a tool use with parts that are joined by commas already.
func resultPart(id string, content []byte, isError bool, raw []byte) part {
	b := append(make([]byte, 0, len(content)+96), `{"type":"tool_result","use_id":`...)
	b = transcript.AppendString(b, id)
	b = append(b, `,"content":[`...)
	b = append(append(b, content...), ']')
	if isError {
		b = append(b, `,"is_error":true`...)
	}
	return part{json: append(b, '}'), result: id, raw: raw}
}

// stamp reads a point in time; it is zero when it is none, or has no year of four digits.
func stamp(lit []byte) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text(lit))
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

func number(v []byte) int64 {
	n, _ := strconv.ParseInt(string(v), 10, 64)
	return max(n, 0)
}
