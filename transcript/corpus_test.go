package transcript_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/transcript"
)

const file = "agentkit-commaagents-parachute.json"

func TestCorpus(t *testing.T) {
	var cases []corpus.Case
	for _, c := range corpus.Load(t, file) {
		if c.Area == "transcript-invariants" || c.Area == "dispatch" || c.ID == "ak-persist-019" {
			cases = append(cases, c)
		}
	}
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"dispatch":              checkDispatch,
		"transcript-invariants": checkInvariant,
		"ak-persist-019":        corpus.Test(`{"given": {"items":"parts with inline bytes, uri, handle, unicode, nested JSON numbers 1, 1.0, 1e400-as-string, empty text"}, "when": ["store","load"], "expect": {"equal":"byte for byte after canonical encoding"}}`, checkCanonical),
	}, nil)
}

func checkDispatch(t *testing.T, c corpus.Case) {
	var given struct {
		Kind transcript.Role `json:"last_item_kind"`
	}
	var expect struct{ Dispatch bool }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &expect)
	var items []transcript.Encoded
	switch given.Kind {
	case "", "none":
	case transcript.RoleTool:
		items = append(items, itemOf(t, "assistant call c1"), itemOf(t, "tool result c1"))
	default:
		items = append(items, itemOf(t, string(given.Kind)))
	}
	var tr transcript.Transcript
	if err := tr.Append(items...); err != nil {
		t.Fatal(err)
	}
	if tr.Dispatchable() != expect.Dispatch {
		t.Errorf("a transcript that ends with %q: dispatchable %v", given.Kind, tr.Dispatchable())
	}
}

// itemOf parses the short form of an item in cases: "assistant call c1 c2", "tool result c1",
// "failed tool result c1", or the name of a role.
func itemOf(t *testing.T, s string) transcript.Encoded {
	t.Helper()
	it := transcript.Item{Role: transcript.Role(s), Parts: []transcript.Part{transcript.Text{Text: "x"}}}
	if ids, ok := strings.CutPrefix(s, "assistant call "); ok {
		it = transcript.Item{Role: transcript.RoleAssistant}
		for id := range strings.FieldsSeq(ids) {
			it.Parts = append(it.Parts, transcript.ToolUse{ID: id, Name: "T"})
		}
	} else if ids, ok := strings.CutPrefix(strings.TrimPrefix(s, "failed "), "tool result "); ok {
		it = transcript.Item{Role: transcript.RoleTool}
		for id := range strings.FieldsSeq(ids) {
			it.Parts = append(it.Parts, transcript.ToolResult{UseID: id, IsError: strings.HasPrefix(s, "failed ")})
		}
	} else if !it.Role.Valid() {
		t.Fatalf("what is %q?", s)
	}
	return it.MustEncode()
}

func checkInvariant(t *testing.T, c corpus.Case) {
	var given struct{ Transcript []string }
	var expect struct{ Result string }
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Expect(), &expect)
	var items []transcript.Encoded
	for _, s := range given.Transcript {
		items = append(items, itemOf(t, s))
	}
	err := transcript.Validate(items)
	want, invalid := strings.CutPrefix(expect.Result, "invalid: ")
	switch {
	case !invalid && (err != nil || expect.Result != "valid"):
		t.Errorf("%v, want %s", err, expect.Result)
	case invalid && (err == nil || !strings.HasPrefix(err.Error(), want+" (")):
		t.Errorf("have %v, want %s", err, want)
	}
	repaired, notes, err := history.Repair(items, func() string { return "new" })
	if err != nil || transcript.Validate(repaired) != nil || (len(notes) > 0) != invalid {
		t.Errorf("repair: %v %v", notes, err)
	}
}

// Variants of the corpus cases.
func TestCorpusVariants(t *testing.T) {
	for given, expect := range map[string]string{
		`[]`: "valid",
		`["system","user","assistant","context","notification"]`:                             "valid",
		`["assistant call c1 c2","tool result c2","tool result c1"]`:                         "valid",
		`["assistant call c1 c2","tool result c1 c2"]`:                                       "valid",
		`["assistant call ü","failed tool result ü","user"]`:                                 "valid",
		`["assistant call c1"]`:                                                              "invalid: tool_use without matching tool_result c1",
		`["assistant call c1 c2 c3","tool result c2"]`:                                       "invalid: tool_use without matching tool_result c1, c3",
		`["assistant call c1","user"]`:                                                       "invalid: tool_use without matching tool_result c1",
		`["assistant call c1","assistant call c1","tool result c1"]`:                         "invalid: duplicate tool_use c1",
		`["assistant call c1","tool result c1","assistant call c1","tool result c1"]`:        "invalid: duplicate tool_use c1",
		`["assistant call c1 c1","tool result c1"]`:                                          "invalid: duplicate tool_use c1",
		`["assistant call c1","tool result c1 c1"]`:                                          "invalid: duplicate tool_result c1",
		`["assistant call c1","tool result c1","user","assistant","user","tool result c1"]`:  "invalid: duplicate tool_result c1",
		`["assistant call c1","tool result c2"]`:                                             "invalid: orphaned tool_result c2",
		`["user","tool result c1"]`:                                                          "invalid: orphaned tool_result c1",
		`["tool result c1","assistant call c1","tool result c1"]`:                            "invalid: orphaned tool_result c1",
		`["assistant call C1","tool result c1"]`:                                             "invalid: orphaned tool_result c1",
		`["assistant call c1","context","tool result c1"]`:                                   "invalid: tool_use without matching tool_result c1",
		`["assistant call c1","assistant call c2","tool result c1","tool result c2"]`:        "invalid: tool_use without matching tool_result c1",
		`["assistant call c1 c2","assistant call c2","tool result c1","tool result c2"]`:     "invalid: duplicate tool_use c2",
		`["assistant call c1","tool result c1","assistant call c2","tool result c2","user"]`: "valid",
	} {
		t.Run(given, func(t *testing.T) {
			checkInvariant(t, corpus.NewCase(map[string]string{"given": `{"transcript":` + given + `}`, "expect": `{"result":"` + expect + `"}`}))
		})
	}
	for kind, expect := range map[string]string{`"none"`: "false", `""`: "false", `null`: "false", `"system"`: "false", `"notification"`: "true"} {
		checkDispatch(t, corpus.NewCase(map[string]string{"given": `{"last_item_kind":` + kind + `}`, "expect": `{"dispatch":` + expect + `}`}))
	}
}

// A stored and loaded item is the same byte for byte.
func checkCanonical(t *testing.T, _ corpus.Case) {
	it := transcript.Item{
		ID: "i", Role: transcript.RoleAssistant, Usage: &transcript.Usage{Input: 1<<53 + 1},
		Parts: []transcript.Part{
			transcript.Text{Text: ""},
			transcript.Text{Text: "Grüße 😀 \u202e \x00"},
			transcript.Media{Name: "a.png", MIME: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0, 0xff}},
			transcript.Media{MIME: "audio/wav", URI: "file:///a%20b.wav"},
			transcript.Media{MIME: "video/mp4", Extra: map[string]json.RawMessage{"handle": []byte(`{"store":"blobs","id":9007199254740993}`)}},
			transcript.Structured{Value: []byte(`{ "numbers" : [ 1 , 1.0 , -0 , 1e400 , "1e400" , 9007199254740993 ] }`)},
			transcript.ToolUse{ID: "u", Name: "T", Input: []byte("{\n  \"deep\": {\"a\": [[], {}]}\n}")},
		},
	}
	stored, err := it.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var loaded transcript.Encoded
	if err := loaded.Parse(stored.JSON); err != nil {
		t.Fatal(err)
	}
	back, err := loaded.Decode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := back.Encode()
	if err != nil || !bytes.Equal(stored.JSON, loaded.JSON) || !bytes.Equal(stored.JSON, again.JSON) {
		t.Errorf("%v\nstored %s\nloaded %s\nagain  %s", err, stored.JSON, loaded.JSON, again.JSON)
	}
	if !strings.Contains(string(stored.JSON), `[1,1.0,-0,1e400,"1e400",9007199254740993]`) {
		t.Errorf("numbers changed: %s", stored.JSON)
	}
}
