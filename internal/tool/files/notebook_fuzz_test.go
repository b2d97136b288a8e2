package files

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzNotebookEdit: whatever the file is, a change either is refused or leaves a notebook
// with that source, and all other cells as they were.
func FuzzNotebookEdit(f *testing.F) {
	f.Add("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [1],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }\n ],\n \"nbformat\": 4\n}", "x\ny", byte(0), byte(1))
	f.Add(`{"nbformat":4,"cells":[]}`, "", byte(1), byte(0))
	f.Add(`{"nbformat":4,"cells":[{"source":"a","outputs":[],"cell_type":"code"}]}`, "\u2028<", byte(2), byte(0))
	f.Add(" {\t\"cells\" :\n[ {\"cell_type\":\"code\" , \"source\":[ ] ,\"execution_count\":1} ] , \"nbformat\":4,\"nbformat_minor\":5}", "q", byte(3), byte(0))
	f.Fuzz(func(t *testing.T, file, source string, how, number byte) {
		source = strings.ToValidUTF8(source, "?")
		n := int(number)
		e := cellEdit{Number: &n}
		switch how % 4 {
		case 0:
			e.Source = source
		case 1:
			e.Mode, e.Source, e.Type = modeInsert, source, codeCell
		case 2:
			e.Mode = modeDelete
		case 3:
			e.Source, e.Type = source, markdownCell
		}
		got, _, err := changeNotebook([]byte(file), e)
		if err != nil {
			return
		}
		was, is := cellsOf(t, []byte(file)), cellsOf(t, got)
		switch how % 4 {
		case 0, 3:
			if len(was) != len(is) || is[n].text() != source {
				t.Fatalf("%q has %d cells, source %q", got, len(is), is[n].text())
			}
			is[n], was[n] = nil, nil
		case 1:
			if len(is) != len(was)+1 || is[n].text() != source {
				t.Fatalf("%q", got)
			}
			is = append(is[:n:n], is[n+1:]...)
		case 2:
			was = append(was[:n:n], was[n+1:]...)
		}
		a, _ := json.Marshal(was)
		b, _ := json.Marshal(is)
		if string(a) != string(b) {
			t.Fatalf("other cells changed:\n%s\n%s", a, b)
		}
	})
}

type looseCell map[string]json.RawMessage

func (c looseCell) text() string {
	var list []string
	if json.Unmarshal(c["source"], &list) == nil {
		return strings.Join(list, "")
	}
	var text string
	_ = json.Unmarshal(c["source"], &text)
	return text
}

func cellsOf(t *testing.T, raw []byte) []looseCell {
	t.Helper()
	var n struct {
		Cells []looseCell `json:"cells"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(raw), "\xEF\xBB\xBF")), &n); err != nil {
		t.Fatal(err)
	}
	return n.Cells
}
