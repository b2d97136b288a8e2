package transcript

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, err := anyItem(t).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(first.JSON) {
			t.Fatalf("not JSON: %s", first.JSON)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, first.JSON); err != nil || !bytes.Equal(compact.Bytes(), first.JSON) {
			t.Fatalf("not compact: %s", first.JSON)
		}
		it, err := first.Decode()
		if err != nil {
			t.Fatalf("%v in %s", err, first.JSON)
		}
		second, err := it.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.JSON, second.JSON) {
			t.Fatalf("encoded twice:\n%s\n%s", first.JSON, second.JSON)
		}
		var parsed Encoded
		if err := parsed.Parse(first.JSON); err != nil {
			t.Fatalf("%v in %s", err, first.JSON)
		}
		if d := cmp.Diff(first, parsed, cmp.AllowUnexported(Encoded{})); d != "" {
			t.Fatalf("what Encode and Parse know differs:\n%s", d)
		}
		var unmarshalled Item
		if err := json.Unmarshal(first.JSON, &unmarshalled); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(unmarshalled); err != nil || !sameJSON(again, first.JSON) {
			t.Fatalf("by way of encoding/json: %v\n%s\n%s", err, first.JSON, again)
		}
	})
}

// sameJSON compares values, because json.Marshal escapes more than Encode.
func sameJSON(a, b []byte) bool {
	var x, y any
	da, db := json.NewDecoder(bytes.NewReader(a)), json.NewDecoder(bytes.NewReader(b))
	da.UseNumber()
	db.UseNumber()
	return da.Decode(&x) == nil && db.Decode(&y) == nil && cmp.Equal(x, y)
}

// encoding/json reads the same values from the output of Encode.
func TestEncodeAgreesWithEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := anyItem(t)
		var doc struct {
			ID       string                     `json:"id"`
			Role     Role                       `json:"role"`
			Model    string                     `json:"model"`
			Time     time.Time                  `json:"time"`
			Usage    *Usage                     `json:"usage"`
			Parts    []struct{ Text string }    `json:"parts"`
			Metadata map[string]json.RawMessage `json:"metadata"`
		}
		if err := json.Unmarshal(it.MustEncode().JSON, &doc); err != nil {
			t.Fatal(err)
		}
		valid := func(s string) string { return string([]rune(s)) } // every invalid byte becomes U+FFFD
		if doc.ID != valid(it.ID) || doc.Role != it.Role || doc.Model != valid(it.Model) || !doc.Time.Equal(it.Time) ||
			!cmp.Equal(doc.Usage, it.Usage) || len(doc.Parts) != len(it.Parts) || len(doc.Metadata) != len(it.Metadata) {
			t.Fatalf("given %+v\nwritten %+v", it, doc)
		}
		for i, p := range it.Parts {
			if p, ok := p.(Text); ok && doc.Parts[i].Text != valid(p.Text) {
				t.Fatalf("text %q is written as %q", p.Text, doc.Parts[i].Text)
			}
		}
	})
}

func TestEncodeForm(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("x", 3600))
	for _, tt := range []struct {
		name string
		it   Item
		want string
	}{
		{"least", Item{Role: RoleUser}, `{"role":"user","parts":[]}`},
		{"text", UserText("<b>\u00e9\n"), `{"role":"user","parts":[{"type":"text","text":"<b>é\n"}]}`},
		{"empty text", UserText(""), `{"role":"user","parts":[{"type":"text","text":""}]}`},
		{"no UTF-8", UserText("a\xff\xfeb"), `{"role":"user","parts":[{"type":"text","text":"a��b"}]}`},
		{"order", Item{
			ID: "i", Role: RoleAssistant, Time: at, Model: "m", Finish: FinishStop, Usage: &Usage{Input: 1, Reasoning: 2},
			Native: &Native{API: "a", JSON: json.RawMessage(` [ 1 ] `)}, Metadata: map[string]json.RawMessage{"z": []byte("1"), "a": []byte("2")},
			Extra: map[string]json.RawMessage{"y": []byte("3"), "b": []byte("4")},
		}, `{"role":"assistant","id":"i","time":"2026-01-02T02:04:05.0000006Z","model":"m","finish":"stop",` +
			`"usage":{"input":1,"output":0,"reasoning":2},"parts":[],"native":{"api":"a","json":[1]},` +
			`"metadata":{"a":2,"z":1},"b":4,"y":3}`},
		{
			"a use",
			Item{Role: RoleAssistant, Parts: []Part{ToolUse{ID: "u", Name: "T", Input: []byte("{ \"n\": 9007199254740993 }")}}},
			`{"role":"assistant","parts":[{"type":"tool_use","id":"u","name":"T","input":{"n":9007199254740993}}]}`,
		},
		{
			"a result", ToolResult{UseID: "u", IsError: true, Content: []Part{Text{Text: "x"}, Media{MIME: "image/png", Data: []byte{0, 255}}}}.Item(),
			`{"role":"tool","parts":[{"type":"tool_result","use_id":"u","content":[{"type":"text","text":"x"},` +
				`{"type":"media","mime":"image/png","data":"AP8="}],"is_error":true}]}`,
		},
		{
			"redacted",
			Item{Role: RoleAssistant, Parts: []Part{Thinking{Data: "opaque", Redacted: true}}},
			`{"role":"assistant","parts":[{"type":"thinking","data":"opaque","redacted":true}]}`,
		},
		{
			"unknown",
			Item{Role: RoleUser, Parts: []Part{Unknown{Type: "x", JSON: []byte(`{ "a":1, "type":"x"}`)}}},
			`{"role":"user","parts":[{"a":1,"type":"x"}]}`,
		},
	} {
		e, err := tt.it.Encode()
		if err != nil || string(e.JSON) != tt.want {
			t.Errorf("%s: %v\nhave %s\nwant %s", tt.name, err, e.JSON, tt.want)
		}
	}
}

type alien struct{ Text }

func TestEncodeErrors(t *testing.T) {
	part := func(p Part) Item { return Item{ID: "i", Role: RoleUser, Parts: []Part{p}} }
	for _, tt := range []struct {
		name string
		it   Item
		want string
	}{
		{"no role", Item{}, `unknown role ""`},
		{"role", Item{Role: "king"}, `unknown role "king"`},
		{"nil part", part(nil), "a part is nil"},
		{"pointer", part(&Text{Text: "x"}), "unknown part type *transcript.Text"},
		{"alien", part(alien{}), "unknown part type transcript.alien"},
		{"use without id", part(ToolUse{Name: "T"}), "a tool use has no id"},
		{"result without id", part(ToolResult{}), "a tool result has no tool-use id"},
		{"input", part(ToolUse{ID: "u", Input: []byte("{")}), "raw JSON"},
		{"two values", part(Structured{Value: []byte("1 2")}), "raw JSON"},
		{"extra", part(Text{Extra: map[string]json.RawMessage{"x": nil}}), "raw JSON"},
		{"extra of its own", part(Text{Extra: map[string]json.RawMessage{"text": []byte("1")}}), `Extra contains "text"`},
		{"extra type", part(File{Extra: map[string]json.RawMessage{"type": []byte("1")}}), `Extra contains "type"`},
		{"item extra of its own", Item{Role: RoleUser, Extra: map[string]json.RawMessage{"parts": []byte("[]")}}, `Extra contains "parts"`},
		{"unknown that is known", part(Unknown{Type: "x", JSON: []byte(`{"type":"text"}`)}), `known type "text"`},
		{"unknown that is none", part(Unknown{JSON: []byte(`1`)}), "not a JSON object"},
		{"unknown that is nothing", part(Unknown{}), "raw JSON"},
		{"year", Item{Role: RoleUser, Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "year 10000"},
		{"deep", part(Structured{Value: []byte(strings.Repeat("[", 20000) + strings.Repeat("]", 20000))}), "raw JSON"},
	} {
		if _, err := tt.it.Encode(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustEncode of no role did not panic")
		}
	}()
	Item{}.MustEncode()
}

func TestParseErrors(t *testing.T) {
	part := func(p string) string { return `{"role":"user","parts":[` + p + `]}` }
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ``, "unexpected end"},
		{"no JSON", `{"role":"user"`, "unexpected end"},
		{"two", `{"role":"user"}{}`, "invalid character"},
		{"no object", `[]`, "want an object"},
		{"null", `null`, "want an object"},
		{"no role", `{}`, `unknown role ""`},
		{"role", `{"role":"king"}`, `unknown role "king"`},
		{"role of a wrong type", `{"role":7}`, "want a string"},
		{"id of a wrong type", `{"role":"user","id":7}`, "want a string"},
		{"time", `{"role":"user","time":"yesterday"}`, "yesterday"},
		{"usage", `{"role":"user","usage":{"input":1.5}}`, "1.5"},
		{"usage of a wrong type", `{"role":"user","usage":[]}`, "want an object"},
		{"big usage", `{"role":"user","usage":{"output":9223372036854775808}}`, "out of range"},
		{"native", `{"role":"user","native":1}`, "want an object"},
		{"metadata", `{"role":"user","metadata":[]}`, "want an object"},
		{"parts", `{"role":"user","parts":{}}`, "parts is not an array"},
		{"part", part(`1`), "want an object"},
		{"part without id", part(`{"type":"tool_use"}`), "a tool use has no id"},
		{"result without id", part(`{"type":"tool_result","use_id":""}`), "no tool-use id"},
		{"type of a wrong type", part(`{"type":1}`), "type: "},
		{"text of a wrong type", part(`{"type":"text","text":5}`), "part 0: text: "},
		{"flag of a wrong type", part(`{"type":"tool_result","use_id":"u","is_error":"yes"}`), "is_error: "},
		{"content of a wrong type", part(`{"type":"tool_result","use_id":"u","content":"x"}`), "content: malformed JSON: want an array"},
		{"content that is wrong", part(`{"type":"tool_result","use_id":"u","content":[{"type":"text","text":[]}]}`), "content: part 0: text: "},
		{"base64", part(`{"type":"media","data":"?"}`), "data: illegal base64"},
		{"second role", `{"role":"user","role":"user"}`, `key "role" appears twice`},
		{"second parts", `{"role":"user","parts":[],"parts":[]}`, `key "parts" appears twice`},
		{"second key in disguise", `{"role":"user","id":"a","\u0069d":"b"}`, `key "id" appears twice`},
		{"second unknown key", `{"role":"user","x":1,"x":2}`, `key "x" appears twice`},
		{"second id", part(`{"type":"tool_use","id":"a","id":"b"}`), `key "id" appears twice`},
		{"second type", part(`{"type":"text","id":"a","type":"tool_use"}`), `key "type" appears twice`},
		{"second key of metadata", `{"role":"user","metadata":{"a":1,"a":2}}`, `key "a" appears twice`},
		{"second key of usage", `{"role":"user","usage":{"input":1,"input":2}}`, `key "input" appears twice`},
		{"second key of native", `{"role":"user","native":{"api":"a","api":"b"}}`, `key "api" appears twice`},
	} {
		if err := new(Encoded).Parse([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		var it Item
		if json.Unmarshal([]byte(tt.in), &it) == nil {
			t.Errorf("%s: encoding/json reads it as %+v", tt.name, it)
		}
	}
}

// Unknown fields and parts survive reading and writing.
func TestUnknownSurvives(t *testing.T) {
	const in = ` { "zeta" : 1e400, "parts": [
		{"text":"hi","type":"text","cache":{"ttl": 9007199254740993}},
		{"type":"hologram","text":5,"deep":[{"a": 1.0}]},
		{"type":"tool_use","id":"u","name":"T","input":{"n":1.0,"m":[ ]},"thought_signature":"s"},
		{"no type":true}
	], "role":"assistant", "alpha": null, "metadata": {"b": 2, "a": {"x": -0}}}`
	const want = `{"role":"assistant","parts":[{"type":"text","text":"hi","cache":{"ttl":9007199254740993}},` +
		`{"type":"hologram","text":5,"deep":[{"a":1.0}]},` +
		`{"type":"tool_use","id":"u","name":"T","input":{"n":1.0,"m":[]},"thought_signature":"s"},{"no type":true}],` +
		`"metadata":{"a":{"x":-0},"b":2},"alpha":null,"zeta":1e400}`
	var e Encoded
	if err := e.Parse([]byte(in)); err != nil {
		t.Fatal(err)
	}
	it, err := e.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if u, ok := it.Parts[1].(Unknown); !ok || u.Type != "hologram" {
		t.Errorf("the second part is %#v", it.Parts[1])
	}
	if again := it.MustEncode(); string(again.JSON) != want {
		t.Errorf("have %s\nwant %s", again.JSON, want)
	}
}

func TestEncoded(t *testing.T) {
	it := Item{
		ID: "i", Role: RoleAssistant, Model: "m", Finish: FinishToolUse,
		Native: &Native{API: "wire", JSON: []byte(`[1]`)},
		Parts: []Part{
			Text{Text: "a"},
			ToolUse{ID: "u1", Name: "T", Input: []byte(`{"x":1}`)},
			Text{Text: "b\n\"c\""},
			ToolUse{ID: "u\"2", Name: "N"},
		},
	}
	e := it.MustEncode()
	if e.ID() != "i" || e.Role() != RoleAssistant || e.Model() != "m" || e.Finish() != FinishToolUse || e.IsZero() ||
		e.Text() != "a\nb\n\"c\"" || e.Text() != it.Text() {
		t.Errorf("facts of %s: %q", e.JSON, e.Text())
	}
	if d := cmp.Diff([]string{"u1", `u"2`}, e.UseIDs()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]ToolUse{{ID: "u1", Name: "T", Input: []byte(`{"x":1}`)}, {ID: `u"2`, Name: "N"}}, e.Uses()); d != "" {
		t.Error(d)
	}
	if string(e.Native("wire")) != "[1]" || e.Native("other") != nil || UserText("x").MustEncode().Native("wire") != nil {
		t.Error("the native form")
	}
	var types []string
	for p := range e.Parts() {
		types = append(types, p.Type())
		if p.Field("no") != nil {
			t.Error("a field that is not there")
		}
	}
	if strings.Join(types, " ") != "text tool_use text tool_use" {
		t.Errorf("types %v", types)
	}
	if !(Encoded{}).IsZero() || (Encoded{}).Text() != "" {
		t.Error("the zero value")
	}
	if uses := it.ToolUses(); len(uses) != 2 || uses[1].Name != "N" {
		t.Errorf("uses of the item: %+v", uses)
	}
}

func TestUsage(t *testing.T) {
	u := Usage{1, 2, 3, 4, 5}
	if got := u.Add(u); got != (Usage{2, 4, 6, 8, 10}) || u.Total() != 10 {
		t.Errorf("%+v %d", got, u.Total())
	}
	e := Item{Role: RoleAssistant, Usage: &Usage{Input: math.MaxInt64, Output: math.MinInt64}}.MustEncode()
	if it, err := e.Decode(); err != nil || it.Usage.Input != math.MaxInt64 || it.Usage.Output != math.MinInt64 {
		t.Errorf("%+v %v", it.Usage, err)
	}
}

func TestIndexPrefix(t *testing.T) {
	e := UserText("a } ] \" b").MustEncode()
	got, n, err := indexPrefix(append(append([]byte(" "), e.JSON...), " trailing"...))
	if err != nil || n != len(e.JSON)+1 || string(got.JSON) != " "+string(e.JSON) {
		t.Errorf("%d %v %s", n, err, got.JSON)
	}
	if _, err := index(append(slices.Clip(e.JSON), "x"...)); err == nil {
		t.Error("bytes after an item were taken")
	}
	for n := range len(e.JSON) {
		if _, err := index(e.JSON[:n]); err == nil {
			t.Errorf("an item that ends after %d bytes was taken", n)
		}
	}
}

func TestMarshalling(t *testing.T) {
	b, err := json.Marshal([]Item{UserText("<x>")})
	if err != nil || !strings.Contains(string(b), `"text":"\u003cx\u003e"`) {
		t.Errorf("%s %v", b, err)
	}
	if _, err := json.Marshal(Item{}); err == nil {
		t.Error("an item without a role was written")
	}
}

func TestRoles(t *testing.T) {
	for _, r := range allRoles {
		if !r.Valid() {
			t.Errorf("%s is not valid", r)
		}
	}
	if Role("").Valid() || Role("User").Valid() {
		t.Error("a role that is none")
	}
}
