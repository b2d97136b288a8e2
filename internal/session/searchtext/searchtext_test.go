package searchtext_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/session/searchtext"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func words(text string) []string {
	var out []string
	for t := range searchtext.Tokens(text) {
		out = append(out, string(t.Word))
	}
	return out
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"Hello, World!":             "hello world",
		"naïve NAÏVE nai\u0308ve":   "naive naive naive",
		"ΣΊΣΥΦΟΣ σίσυφος":           "σισυφοσ σισυφοσ",
		"foo_bar-2 a.b":             "foo bar 2 a b",
		"日本語 text":                  "日 本 語 text",
		"x\x00y \xff z":             "x y z",
		"ế Ǘ":                       "e u",
		"\u0301 lone":               "lone",
		"x²":                        "x²",
		strings.Repeat("a", 10_000): strings.Repeat("a", 128),
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%.40q: %q, want %q", text, got, want)
		}
	}
}

func TestParseWords(t *testing.T) {
	term := func(prefix bool, tokens ...string) searchtext.Term {
		return searchtext.Term{Tokens: tokens, Prefix: prefix}
	}
	for typed, want := range map[string]searchtext.Words{
		`Error log`:            {term(false, "error"), term(false, "log")},
		`"not found" x`:        {term(false, "not", "found"), term(false, "x")},
		`"never closed phrase`: {term(false, "never", "closed", "phrase")},
		`conf*`:                {term(true, "conf")},
		`a.b "the conf*"`:      {term(false, "a", "b"), term(true, "the", "conf")},
		`x OR -y NOT(z)`:       {term(false, "x"), term(false, "or"), term(false, "y"), term(false, "not", "z")},
		`it's !& | <-> :*`:     {term(false, "it", "s")},
	} {
		got, err := searchtext.ParseWords(typed)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", typed, got, err, want)
		}
	}
	for _, typed := range []string{"", " ", `""`, "*", "&|!()"} {
		if _, err := searchtext.ParseWords(typed); !errors.Is(err, session.ErrInvalid) {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

func TestFind(t *testing.T) {
	const text = "The quick brown fox; the QUICK brówn dog."
	for typed, want := range map[string][]string{
		"quick":             {"quick", "QUICK"},
		"brown dog":         {"brown", "brówn", "dog"},
		`"brown dog"`:       {"brówn dog"},
		`"quick brown" fox`: {"quick brown", "fox", "QUICK brówn"},
		"bro*":              {"brown", "brówn"},
		`"the qui*"`:        {"The quick", "the QUICK"},
		`"fox the"`:         {"fox; the"},
		"cat":               nil,
		"quick cat":         nil,
		`"dog brown"`:       nil,
		"qui":               nil,
	} {
		w, err := searchtext.ParseWords(typed)
		if err != nil {
			t.Fatal(err)
		}
		marks, found := w.Find(text)
		var got []string
		for _, m := range marks {
			got = append(got, text[m[0]:m[1]])
		}
		if found != (want != nil) || found && !slices.Equal(got, want) {
			t.Errorf("%s: %q (%v), want %q", typed, got, found, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("before ", 50) + "the\n\tword\x00 here" + strings.Repeat(" behind", 50)
	for _, c := range []struct{ text, typed string }{
		{long, "word"},
		{long, `"the word"`},
		{long, "before"},
		{"word", "word"},
		{strings.Repeat("日", 500) + "word", "word"},
		{"x " + strings.Repeat("w", 500), "w*"},
		{"a\xffword", "word"},
	} {
		w, _ := searchtext.ParseWords(c.typed)
		marks, found := w.Find(c.text)
		if !found {
			t.Fatalf("%q is not in %.40q", c.typed, c.text)
		}
		ex, in := searchtext.Excerpt(c.text, marks)
		if n := utf8.RuneCountInString(ex); n > 210 || strings.ContainsAny(ex, "\n\t\x00") || !utf8.ValidString(ex) {
			t.Errorf("%s: %d characters: %q", c.typed, n, ex)
		}
		if len(in) == 0 {
			t.Errorf("%s: no marks in %q", c.typed, ex)
		}
		for _, m := range in {
			if _, again := w[:1].Find(ex[m[0]:m[1]]); !again {
				t.Errorf("%s: the mark is %q", c.typed, ex[m[0]:m[1]])
			}
		}
	}
}

// sealedItem seals an item as a record.
func sealedItem(seq int64, queued bool, it transcript.Item) *session.Record {
	it.ID = "i"
	return &session.Record{Seq: seq, Kind: session.KindItem, Payload: session.ItemDraft(it.MustEncode(), queued, nil).Payload}
}

func TestEntries(t *testing.T) {
	result := func(id, text string) transcript.ToolResult {
		return transcript.ToolResult{UseID: id, Content: []transcript.Part{transcript.Text{Text: text}}}
	}
	log := []*session.Record{
		sealedItem(2, false, transcript.UserText("a question")),
		sealedItem(3, false, transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
			transcript.Thinking{Text: "hidden"},
			transcript.Text{Text: "let me see"},
			transcript.ToolUse{ID: "u1", Name: "Bash", Input: json.RawMessage(`{"command":"ls -l","n":[1,{"k":"v"}],"ok":true}`)},
			transcript.ToolUse{ID: "u2", Name: "Read", Input: json.RawMessage(`{"path":"/etc/hosts"}`)},
		}}),
		sealedItem(4, false, transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{result("u1", "total 0"), result("u2", "localhost")}}),
		sealedItem(5, false, transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{result("u9", "whose")}}),
		sealedItem(6, true, transcript.UserText("not yet")),
	}
	want := []searchtext.Entry{
		{Seq: 2, TextSeq: 2, Role: "user", Complete: true, Text: "a question"},
		{Seq: 3, TextSeq: 3, Role: "assistant", Complete: true, Text: "let me see\nls -l\n1\nv\n/etc/hosts"},
		{Seq: 3, TextSeq: 3, Role: "assistant", Tool: "Bash", Parts: []int{2}, Text: "ls -l\n1\nv"},
		{Seq: 3, TextSeq: 3, Role: "assistant", Tool: "Read", Parts: []int{3}, Text: "/etc/hosts"},
		{Seq: 4, TextSeq: 4, Role: "tool", Complete: true, Text: "total 0\nlocalhost"},
		{Seq: 4, TextSeq: 4, Role: "tool", Tool: "Bash", Parts: []int{0}, Text: "total 0"},
		{Seq: 4, TextSeq: 4, Role: "tool", Tool: "Read", Parts: []int{1}, Text: "localhost"},
		{Seq: 5, TextSeq: 5, Role: "tool", Complete: true, Text: "whose"},
	}
	var rd searchtext.Reader
	var got []searchtext.Entry
	for _, r := range log {
		entries := rd.Read(r)
		for i := range entries {
			if again, ok := searchtext.Text(r.Payload, &entries[i]); !ok || again != entries[i].Text {
				t.Errorf("the text of %+v is %q (%v) when read again", entries[i], again, ok)
			}
		}
		got = append(got, entries...)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if len(rd.Uses) != 0 {
		t.Errorf("uses left open: %v", rd.Uses)
	}
}

func TestEntriesOfARedaction(t *testing.T) {
	instead := sealedItem(2, false, transcript.UserText("the password is [erased]"))
	payload, err := json.Marshal(record.Redacted{
		Seqs: []int64{2, 3}, Replacements: []record.Replacement{{Seq: 2, Payload: instead.Payload}, {Seq: 3, Payload: json.RawMessage(`{"use_id":"u"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &session.Record{Seq: 9, Kind: record.KindRedacted, Payload: payload}
	got := new(searchtext.Reader).Read(r)
	want := []searchtext.Entry{{Seq: 2, TextSeq: 9, Role: "user", Complete: true, Text: "the password is [erased]"}}
	if !reflect.DeepEqual(got, want) || !slices.Equal(searchtext.Erased(r), []int64{2, 3}) {
		t.Errorf("%+v, erased %v", got, searchtext.Erased(r))
	}
	if text, ok := searchtext.Text(r.Payload, &got[0]); !ok || text != want[0].Text {
		t.Errorf("%q (%v) when read again", text, ok)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("the quick brown fox", `"quick br*" fox`)
	f.Add("naïve 日本語\xff", "naive 日本")
	f.Fuzz(func(t *testing.T, text, typed string) {
		w, err := searchtext.ParseWords(typed)
		if err != nil {
			return
		}
		marks, found := w.Find(text)
		end := 0
		for _, m := range marks {
			if m[0] < end || m[1] <= m[0] || m[1] > len(text) {
				t.Fatalf("marks %v in %d bytes", marks, len(text))
			}
			end = m[1]
		}
		if !found {
			return
		}
		ex, in := searchtext.Excerpt(text, marks)
		end = 0
		for _, m := range in {
			if m[0] < end || m[1] <= m[0] || m[1] > len(ex) || !utf8.ValidString(ex[m[0]:m[1]]) {
				t.Fatalf("marks %v in the excerpt %q", in, ex)
			}
			end = m[1]
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"item":{"role":"user","id":"i","parts":[{"type":"text","text":"x"}]}}`))
	f.Add([]byte(`{"item":{"role":"tool","id":"i","parts":[{"type":"tool_result","use_id":"u","content":[{"type":"structured","value":[}]}]}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, kind := range []session.Kind{session.KindItem, record.KindRedacted} {
			r := &session.Record{Seq: 2, Kind: kind, Payload: payload}
			for _, e := range new(searchtext.Reader).Read(r) {
				if again, ok := searchtext.Text(payload, &e); e.TextSeq == e.Seq && (!ok || again != e.Text) {
					t.Fatalf("%q, read again %q", e.Text, again)
				}
			}
		}
	})
}
