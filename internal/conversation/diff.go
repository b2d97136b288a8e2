package conversation

import (
	"encoding/json"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// maxDiffed is the maximum size of a file whose change is shown with line numbers, in bytes.
const maxDiffed = 1 << 20

// fileSaved keeps the content of a file before a running call changes it.
func (c *Conversation) fileSaved(r source) {
	var f record.FileSaved
	if json.Unmarshal(r.Payload, &f) != nil {
		return
	}
	switch {
	case f.Rewind != nil:
		c.note(r, false, "restored file %s", strings.TrimPrefix(f.Path, c.o.Cwd+"/"))
	case c.call(f.Use) != nil:
		c.saved[f.Use] = append(c.saved[f.Use], f)
	}
}

// change is the input of the tools that change files.
type change struct {
	Path    string  `json:"file_path"`
	Content *string `json:"content"`
	edit
	Edits []edit `json:"edits"`
}

type edit struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// apply returns a text after the edit. It reports whether the text has the part to replace.
func (e *edit) apply(text string) (string, bool) {
	n := 1
	if e.All {
		n = -1
	}
	return strings.Replace(text, e.Old, e.New, n), e.Old != "" && strings.Contains(text, e.Old)
}

// diffOf returns the unified diff of a call that changed a file. If the log does not have the
// content before the change, the diff has only the changed lines, without their numbers.
func diffOf(call *Call, saved []record.FileSaved) string {
	var in change
	edits := func() []edit { return []edit{in.edit} }
	switch call.Tool {
	case "Write":
		edits = func() []edit { return nil }
	case "Edit":
	case "MultiEdit":
		edits = func() []edit { return in.Edits }
	default:
		return ""
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return ""
	}
	if len(saved) == 1 {
		if text, ok := fileDiff(&saved[0], in.Content, edits()); ok {
			return text
		}
	}
	if in.Content != nil {
		return changedLines("", *in.Content)
	}
	var b strings.Builder
	for _, e := range edits() {
		b.WriteString(changedLines(e.Old, e.New))
	}
	return b.String()
}

// fileDiff returns the diff of a whole file.
func fileDiff(f *record.FileSaved, content *string, edits []edit) (string, bool) {
	before := ""
	if f.Existed {
		if f.Data == "" || f.Size > maxDiffed {
			return "", false
		}
		b, err := f.Data.Content(f.Digest)
		if err != nil {
			return "", false
		}
		before = string(b)
	}
	after := before
	if content != nil {
		after = *content
	}
	for i := range edits {
		var ok bool
		if after, ok = edits[i].apply(after); !ok {
			return "", false
		}
	}
	if len(after) > maxDiffed {
		return "", false
	}
	return udiff.Unified(f.Path, f.Path, before, after), true
}

// changedLines returns a diff without headers and line numbers.
func changedLines(before, after string) string {
	if len(before)+len(after) > maxDiffed {
		return ""
	}
	var b strings.Builder
	n := 0
	for l := range strings.Lines(udiff.Unified("a", "b", lines(before), lines(after))) {
		if n++; n > 2 && !strings.HasPrefix(l, "@@") { // after "--- a" and "+++ b"
			b.WriteString(l)
		}
	}
	return b.String()
}

// lines returns a text that ends with a new line.
func lines(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
