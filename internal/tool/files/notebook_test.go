package files_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

type notebookEdit struct {
	Path   string `json:"notebook_path"`
	ID     string `json:"cell_id,omitempty"`
	Number *int   `json:"cell_number,omitempty"`
	Source string `json:"new_source,omitempty"`
	Type   string `json:"cell_type,omitempty"`
	Mode   string `json:"edit_mode,omitempty"`
}

// small is a notebook as Jupyter writes it, with what it does not know of.
const small = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "m1",
   "metadata": {"x": 1.10,   "y": [1,2]},
   "source": [
    "# Title\n",
    "é <b>&amp;</b> \u00e9"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "c1",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "\u001b[31mhello\u001b[0m\n"
     ]
    },
    {"output_type": "display_data", "data": {"image/png": "aGFsbG8=", "text/plain": "<Figure>"}},
    {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["line 1"]}
   ],
   "source": "print('hello')"
  }
 ],
 "metadata": {"unknown": {"b": 1, "a": 2}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestReadNotebook(t *testing.T) {
	d := newFilesEnv(t, nil)
	d.put("n.ipynb", small)
	got := d.read("n.ipynb")
	want := "<cell id=\"m1\" type=\"markdown\">\n# Title\né <b>&amp;</b> é\n</cell>\n" +
		"<cell id=\"c1\" type=\"code\">\nprint('hello')\n</cell>\n" +
		"<output of=\"c1\">\nhello\n\n</output>\n<output of=\"c1\">\n[image/png, 10 bytes]\n<Figure>\n</output>\n<output of=\"c1\">\nValueError: bad\nline 1\n</output>\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	wants(t, textOf(d.call("Read", read{"n.ipynb", 1, 1})), `id="c1"`)
	wants(t, textOf(d.call("Read", read{"n.ipynb", 0, 1})), "[cells 0-0 of 2; continue with offset 1]")
	wants(t, textOf(d.call("Read", read{"n.ipynb", 9, 0})), "offset 9 is past the end")
	d.put("n.ipynb", strings.Replace(small, "hello'", strings.Repeat("x", 1<<20), 1))
	if got := d.read("n.ipynb"); len(got) > 600<<10 {
		t.Errorf("%d bytes are shown", len(got))
	}
	d.put("n.ipynb", "just a text\n")
	wants(t, d.read("n.ipynb"), "1\tjust a text")
	wants(t, d.read("n.ipynb"), "is not a notebook")
}

func TestNotebookEdit(t *testing.T) {
	one, zero, two := 1, 0, 2
	outputs := small[strings.Index(small, `"outputs": [`):strings.Index(small, `   "source": "print`)]
	for _, c := range []struct {
		name     string
		in       notebookEdit
		old, new []string // pairs: what of the file is replaced by what; nothing else changes
	}{
		{
			"a markdown cell",
			notebookEdit{ID: "m1", Source: "# New\n\nline <b>\n"},
			[]string{"\"# Title\\n\",\n    \"é <b>&amp;</b> \\u00e9\""},
			[]string{"\"# New\\n\",\n    \"\\n\",\n    \"line <b>\\n\""},
		},
		{
			"a code cell loses its outputs",
			notebookEdit{ID: "c1", Source: "a\nb"},
			[]string{`"execution_count": 7`, outputs, `"print('hello')"`},
			[]string{`"execution_count": null`, "\"outputs\": [],\n", `"a\nb"`},
		},
		{
			"by number",
			notebookEdit{Number: &one, Source: "x"},
			[]string{`"execution_count": 7`, outputs, `"print('hello')"`},
			[]string{`"execution_count": null`, "\"outputs\": [],\n", `"x"`},
		},
		{
			"code becomes markdown",
			notebookEdit{ID: "c1", Source: "x", Type: "markdown"},
			[]string{"\"cell_type\": \"code\",\n   \"execution_count\": 7,\n", outputs + "   ", `"print('hello')"`},
			[]string{"\"cell_type\": \"markdown\",\n", "", `"x"`},
		},
		{
			"markdown becomes code",
			notebookEdit{ID: "m1", Source: "x", Type: "code"},
			[]string{`"cell_type": "markdown"`, "\"source\": [\n    \"# Title\\n\",\n    \"é <b>&amp;</b> \\u00e9\""},
			[]string{`"cell_type": "code"`, "\"execution_count\": null,\n   \"outputs\": [],\n   \"source\": [\n    \"x\""},
		},
		{
			"an empty source",
			notebookEdit{ID: "m1"},
			[]string{"[\n    \"# Title\\n\",\n    \"é <b>&amp;</b> \\u00e9\"\n   ]"},
			[]string{"[]"},
		},
		{
			"the first is deleted",
			notebookEdit{ID: "m1", Mode: "delete"},
			[]string{small[strings.Index(small, "{\n   \"cell_type\": \"markdown\""):strings.Index(small, "{\n   \"cell_type\": \"code\"")]},
			[]string{""},
		},
		{
			"the last is deleted",
			notebookEdit{Number: &one, Mode: "delete"},
			[]string{small[strings.Index(small, ",\n  {\n   \"cell_type\": \"code\""):strings.Index(small, "\n ],\n \"metadata\"")]},
			[]string{""},
		},
		{
			"a new one behind another",
			notebookEdit{ID: "m1", Source: "a\nb", Type: "code", Mode: "insert"},
			[]string{"  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7"},
			[]string{"  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 7"},
		},
		{
			"a new first one",
			notebookEdit{Source: "t", Type: "markdown", Mode: "insert"},
			[]string{"\"cells\": [\n  {"},
			[]string{"\"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": [\n    \"t\"\n   ]\n  },\n  {"},
		},
		{
			"a new one with a number",
			notebookEdit{Number: &zero, Source: "t", Type: "raw", Mode: "insert"},
			[]string{"\"cells\": [\n  {"},
			[]string{"\"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": [\n    \"t\"\n   ]\n  },\n  {"},
		},
		{
			"a new last one",
			notebookEdit{Number: &two, Type: "markdown", Mode: "insert"},
			[]string{"'hello')\"\n  }\n ]"},
			[]string{"'hello')\"\n  },\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"ID\",\n   \"metadata\": {},\n   \"source\": []\n  }\n ]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, crlf := range []bool{false, true} {
				before, want := small, small
				for i, old := range c.old {
					if strings.Count(want, old) != 1 {
						t.Fatalf("the test's own %q is there %d times", old, strings.Count(want, old))
					}
					want = strings.Replace(want, old, c.new[i], 1)
				}
				if crlf {
					before, want = strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
				}
				d := newFilesEnv(t, nil)
				d.put("n.ipynb", before)
				d.read("n.ipynb")
				c.in.Path = "n.ipynb"
				shown := d.requests("NotebookEdit", c.in)[0]
				if shown.Operation != policy.OpWrite || shown.Resource != d.dir+"/n.ipynb" || shown.Display == "" || len(shown.Base) != 64 {
					t.Errorf("asked about %+v", shown)
				}
				r := d.call("NotebookEdit", c.in)
				got := d.get("n.ipynb")
				if strings.Contains(want, `"ID"`) {
					id := newID(t, got)
					want = strings.Replace(want, `"ID"`, `"`+id+`"`, 1)
					if !strings.Contains(shown.Display, id) {
						t.Error("what was shown has another id")
					}
				}
				if r.IsError || got != want {
					t.Errorf("%s\n%s\nwant\n%s", textOf(r), got, want)
				}
				if len(r.Changes) != 1 {
					t.Errorf("changes %+v", r.Changes)
				}
			}
		})
	}
}

// newID is the id of the cell that small does not have.
func newID(t *testing.T, raw string) string {
	t.Helper()
	var n struct{ Cells []struct{ ID string } }
	if err := json.Unmarshal([]byte(raw), &n); err != nil {
		t.Fatal(err)
	}
	for _, c := range n.Cells {
		if c.ID != "m1" && c.ID != "c1" && len(c.ID) == 8 {
			return c.ID
		}
	}
	t.Fatal("no new cell has an id")
	return ""
}

// TestNotebookStyles keeps the way in which a file is written, whatever it is.
func TestNotebookStyles(t *testing.T) {
	for _, c := range []struct {
		name, before string
		in           notebookEdit
		want         string
	}{
		{
			"one line", `{"cells":[],"nbformat":4,"nbformat_minor":4}`,
			notebookEdit{Source: "a\nb", Type: "code", Mode: "insert"},
			`{"cells":[{"cell_type":"code", "execution_count":null, "metadata":{}, "outputs":[], "source":["a\n", "b"]}],"nbformat":4,"nbformat_minor":4}`,
		},
		{
			"cells without ids", `{"nbformat": 4, "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["a"]}, {"cell_type": "markdown", "source": ""}]}`,
			notebookEdit{ID: "cell-1", Source: "b"},
			`{"nbformat": 4, "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["a"]}, {"cell_type": "markdown", "source": "b"}]}`,
		},
		{
			"the only one is deleted", "{\n\t\"cells\": [\n\t\t{\"cell_type\": \"raw\", \"source\": \"\"}\n\t],\n\t\"nbformat\": 4\n}",
			notebookEdit{ID: "cell-0", Mode: "delete"},
			"{\n\t\"cells\": [],\n\t\"nbformat\": 4\n}",
		},
		{
			"tabs", "{\n\t\"cells\": [],\n\t\"nbformat\": 4\n}",
			notebookEdit{Source: "x", Type: "raw", Mode: "insert"},
			"{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t\"metadata\": {},\n\t\t\t\"source\": [\n\t\t\t\t\"x\"\n\t\t\t]\n\t\t}\n\t],\n\t\"nbformat\": 4\n}",
		},
		{
			"outputs behind the source", `{"nbformat":4,"cells":[{"cell_type":"code","source":"a","execution_count":1,"outputs":[1]}]}`,
			notebookEdit{ID: "cell-0", Source: "b", Type: "markdown"},
			`{"nbformat":4,"cells":[{"cell_type":"markdown","source":"b"}]}`,
		},
		{
			"a byte order mark", "\xEF\xBB\xBF" + `{"nbformat":4,"cells":[{"cell_type":"raw","source":"a"}]}`,
			notebookEdit{ID: "cell-0", Source: "b"},
			"\xEF\xBB\xBF" + `{"nbformat":4,"cells":[{"cell_type":"raw","source":"b"}]}`,
		},
	} {
		d := newFilesEnv(t, nil)
		d.put("n.ipynb", c.before)
		d.read("n.ipynb")
		c.in.Path = "n.ipynb"
		r := d.call("NotebookEdit", c.in)
		if got := d.get("n.ipynb"); got != c.want {
			t.Errorf("%s: %s\n%s\nwant\n%s", c.name, textOf(r), got, c.want)
		}
	}
}

func TestNotebookRefusals(t *testing.T) {
	nine := 9
	cell := `{"cell_type":"raw","source":""}`
	for name, c := range map[string]struct {
		file string
		in   notebookEdit
		want string
	}{
		"no such cell":             {small, notebookEdit{ID: "c9", Source: "x"}, `no cell has the id "c9": the cells are m1, c1`},
		"no such number":           {small, notebookEdit{Number: &nine, Source: "x"}, "no cell has the number 9"},
		"no JSON":                  {"{", notebookEdit{ID: "a", Source: "x"}, "is not a notebook: not JSON"},
		"a list":                   {"[]", notebookEdit{ID: "a", Source: "x"}, "it is a list"},
		"another JSON":             {"{}", notebookEdit{ID: "a", Source: "x"}, "it has no nbformat"},
		"nbformat 3":               {`{"nbformat":3,"worksheets":[]}`, notebookEdit{ID: "a", Source: "x"}, "nbformat 3"},
		"no cells":                 {`{"nbformat":4}`, notebookEdit{ID: "a", Source: "x"}, "no list of cells"},
		"a cell that is none":      {`{"nbformat":4,"cells":[5]}`, notebookEdit{ID: "a", Source: "x"}, "cell 0 is a number"},
		"no type":                  {`{"nbformat":4,"cells":[{"source":""}]}`, notebookEdit{ID: "a", Source: "x"}, "has no cell_type"},
		"a strange type":           {`{"nbformat":4,"cells":[{"cell_type":"x","source":""}]}`, notebookEdit{ID: "a", Source: "x"}, "unknown cell_type"},
		"a source that is neither": {`{"nbformat":4,"cells":[{"cell_type":"raw"}]}`, notebookEdit{ID: "a", Source: "x"}, "has a source that is neither"},
		"a source of numbers":      {`{"nbformat":4,"cells":[{"cell_type":"raw","source":[1]}]}`, notebookEdit{ID: "a", Source: "x"}, "has a source that is neither"},
		"an id of numbers":         {`{"nbformat":4,"cells":[{"cell_type":"raw","source":"","id":1}]}`, notebookEdit{ID: "1", Source: "x"}, "id that is not a string"},
		"a key twice":              {`{"nbformat":4,"cells":[{"cell_type":"raw","source":"","source":"y"}]}`, notebookEdit{ID: "a", Source: "x"}, "is not a notebook"},
		"the same id twice":        {`{"nbformat":4,"cells":[{"cell_type":"raw","source":"","id":"a"},{"cell_type":"raw","source":"","id":"a"}]}`, notebookEdit{ID: "a", Source: "x"}, "several cells have the id"},
		"attachments":              {`{"nbformat":4,"cells":[{"cell_type":"markdown","source":"","attachments":{}}]}`, notebookEdit{ID: "cell-0", Source: "x", Type: "code"}, "attachments"},
		"too deep":                 {`{"nbformat":4,"cells":[],"metadata":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, notebookEdit{ID: "a", Source: "x"}, "deep"},
		"too many values":          {`{"nbformat":4,"cells":[` + strings.Repeat("0,", 1<<20) + `0]}`, notebookEdit{ID: "a", Source: "x"}, "values"},
		"no UTF-8":                 {"{\"nbformat\":4,\"cells\":[],\"x\":\"\xff\"}", notebookEdit{ID: "a", Source: "x"}, "UTF-8"},
		"not read":                 {`{"nbformat":4,"cells":[` + cell + `]}`, notebookEdit{ID: "cell-0", Source: "x"}, "read it first"},
	} {
		d := newFilesEnv(t, nil)
		d.put("n.ipynb", c.file)
		if name != "not read" {
			d.read("n.ipynb")
		}
		c.in.Path = "n.ipynb"
		r := d.call("NotebookEdit", c.in)
		if !r.IsError || !strings.Contains(textOf(r), c.want) {
			t.Errorf("%s: %.300s, want %q", name, textOf(r), c.want)
		}
		if d.get("n.ipynb") != c.file {
			t.Errorf("%s: the file was changed", name)
		}
	}
	d := newFilesEnv(t, nil)
	for want, in := range map[string]notebookEdit{
		"use Edit":            {Path: "a.txt", ID: "a", Source: "x"},
		"edit_mode":           {Path: "n.ipynb", ID: "a", Mode: "append"},
		"want code":           {Path: "n.ipynb", ID: "a", Type: "sql"},
		"not both":            {Path: "n.ipynb", ID: "a", Number: &nine},
		"needs a cell_type":   {Path: "n.ipynb", Mode: "insert"},
		"set cell_id or":      {Path: "n.ipynb"},
		"must not be set":     {Path: "n.ipynb", ID: "a", Mode: "delete", Source: "x"},
		"outside the session": {Path: "/etc/n.ipynb", ID: "a", Source: "x"},
	} {
		tl, call := d.newCall("NotebookEdit", in)
		if _, err := tl.Requests(call); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", in, err, want)
		}
	}
}
