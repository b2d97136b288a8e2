package searchtext

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Entry is a text to search. An item has one entry with all its text. If the item has text of
// several tools, or other text besides that of a tool, it has one more entry for each tool.
type Entry struct {
	Seq      int64  // seq of the item's record
	TextSeq  int64  // seq of the record with the text: Seq, or a later one with its replacement
	Role     string // role of the item
	Tool     string // the tool whose uses or results contain the text; "" for a whole item
	Complete bool   // the text is the whole item
	Parts    []int  // the item's parts with the text; nil for all
	Text     string
}

// Reader makes entries from a session's records, in order. Its only state is the list of tools
// whose results are still missing. To continue later, store Uses.
type Reader struct {
	Uses map[string]string // the tool of each use that has no result yet
}

// maxUses is the maximum size of Uses: a log may have uses that never get a result.
const maxUses = 1024

// Read returns the entries of a record. Records of other kinds, queued items and unreadable items
// have none. The summary of a compaction is not searched, but the compacted items are.
//
// A redacted record gives entries for the replacements of erased items; the entries of [Erased]
// are no longer valid.
func (rd *Reader) Read(r *session.Record) []Entry {
	if r.Payload == nil {
		return nil
	}
	switch r.Kind {
	case session.KindItem:
		return rd.item(r.Seq, r.Seq, r.Payload)
	case record.KindToolStarted:
		var s record.ToolStarted
		if json.Unmarshal(r.Payload, &s) == nil {
			rd.use(s.Use, s.Tool)
		}
	case record.KindRedacted:
		var p record.Redacted
		if json.Unmarshal(r.Payload, &p) != nil {
			return nil
		}
		var out []Entry
		for _, i := range p.Replacements {
			out = append(out, rd.item(i.Seq, r.Seq, i.Payload)...)
		}
		return out
	}
	return nil
}

// Erased returns the records whose entries a redacted record invalidates.
func Erased(r *session.Record) []int64 {
	var p record.Redacted
	if r.Kind != record.KindRedacted || r.Payload == nil || json.Unmarshal(r.Payload, &p) != nil {
		return nil
	}
	return p.Seqs
}

// Text returns the text of an [Entry] from the payload of record TextSeq.
func Text(payload json.RawMessage, e *Entry) (string, bool) {
	if e.TextSeq != e.Seq {
		var p record.Redacted
		if json.Unmarshal(payload, &p) != nil {
			return "", false
		}
		payload = nil
		for _, i := range p.Replacements {
			if i.Seq == e.Seq {
				payload = i.Payload
			}
		}
	}
	it, ok := readItem(payload)
	if !ok {
		return "", false
	}
	var b strings.Builder
	n := 0
	for p := range it.Parts() {
		if len(e.Parts) == 0 || slices.Contains(e.Parts, n) {
			addPart(&b, p)
		}
		n++
	}
	return b.String(), true
}

func readItem(payload json.RawMessage) (transcript.Encoded, bool) {
	if !bytes.Contains(payload, []byte(`"item"`)) {
		return transcript.Encoded{}, false
	}
	s, err := record.ReadItem(payload)
	return s.Item, err == nil && !s.Queued && !s.Item.IsZero()
}

func (rd *Reader) use(id, tool string) {
	if id == "" || tool == "" {
		return
	}
	if rd.Uses == nil || len(rd.Uses) >= maxUses {
		rd.Uses = map[string]string{}
	}
	rd.Uses[id] = tool
}

func (rd *Reader) item(seq, from int64, payload json.RawMessage) []Entry {
	it, ok := readItem(payload)
	if !ok {
		return nil
	}
	var all strings.Builder
	var tools []Entry
	plain, n := false, 0
	for p := range it.Parts() {
		before := all.Len()
		addPart(&all, p)
		if text := strings.TrimPrefix(all.String()[before:], "\n"); text != "" {
			if tool := rd.toolOf(p); tool != "" {
				tools = addTool(tools, tool, n, text)
			} else {
				plain = true
			}
		} else {
			rd.toolOf(p)
		}
		n++
	}
	if all.Len() == 0 {
		return nil
	}
	whole := Entry{Complete: true, Text: all.String()}
	if len(tools) == 1 && !plain {
		whole.Tool, tools = tools[0].Tool, nil
	}
	out := append([]Entry{whole}, tools...)
	for i := range out {
		out[i].Seq, out[i].TextSeq, out[i].Role = seq, from, string(it.Role())
	}
	return out
}

// addTool adds a part to the entry of its tool.
func addTool(tools []Entry, tool string, part int, text string) []Entry {
	for i := range tools {
		if e := &tools[i]; e.Tool == tool {
			e.Parts, e.Text = append(e.Parts, part), e.Text+"\n"+text
			return tools
		}
	}
	return append(tools, Entry{Tool: tool, Parts: []int{part}, Text: text})
}

// toolOf returns the tool of a part, or "".
func (rd *Reader) toolOf(p jsonscan.Object) string {
	switch p.Type() {
	case "tool_use":
		name := text(p.Field("name"))
		rd.use(text(p.Field("id")), name)
		return name
	case "tool_result":
		id := text(p.Field("use_id"))
		name := rd.Uses[id]
		delete(rd.Uses, id)
		return name
	}
	return ""
}

// addPart adds the searchable text of a part on separate lines: text, the values of a tool's
// input, the text of its result, the name of a file.
func addPart(b *strings.Builder, p jsonscan.Object) {
	switch p.Type() {
	case "text":
		addLine(b, text(p.Field("text")))
	case "tool_use":
		addValues(b, p.Field("input"))
	case "tool_result":
		for inner := range p.Elements("content") {
			addPart(b, inner)
		}
	case "structured":
		addValues(b, p.Field("value"))
	case "file":
		addLine(b, text(p.Field("name")))
	}
}

func addLine(b *strings.Builder, line string) {
	if line == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(line)
}

// addValues adds the strings and numbers of a JSON value, in their order.
func addValues(b *strings.Builder, value []byte) {
	dec := json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	var inObject []bool // for each open value
	key := false        // the next string is an object's key
	for {
		t, err := dec.Token()
		if err != nil {
			return
		}
		switch v := t.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				inObject = append(inObject, v == '{')
			} else {
				inObject = inObject[:len(inObject)-1]
			}
			key = len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			if key {
				key = false
				continue
			}
			addLine(b, v)
		case json.Number:
			addLine(b, v.String())
		}
		key = len(inObject) > 0 && inObject[len(inObject)-1]
	}
}

// text decodes a JSON string.
func text(value []byte) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
