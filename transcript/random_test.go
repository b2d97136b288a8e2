package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// Generators of arbitrary items for the property tests.

var (
	ids = rapid.StringMatching(`[a-zA-Z0-9_:.-]{1,12}`)

	// texts have control characters, quotes, bidi marks, astral planes and bytes that are not
	// UTF-8.
	texts = rapid.OneOf(
		rapid.Just(""),
		rapid.String(),
		rapid.SampledFrom([]string{"\x00\x01\x1f\x7f", `"\/<>&'`, "\u2028\u2029\u202e\ufeff", "😀👩‍👩‍👧", "a\xffb\xc3", "\ufffd", "</user>", "\r\n\t\b\f"}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)

	// raws are JSON values, some with spaces and with numbers that do not fit a float.
	raws = rapid.OneOf(
		rapid.SampledFrom([]json.RawMessage{
			[]byte(`{}`), []byte(`[]`), []byte(`null`), []byte(`""`), []byte(`9007199254740993`), []byte(`-0`),
			[]byte(`1.0`), []byte(`1e400`), []byte(`123456789012345678901234567890.5`),
			[]byte(" {\n\t\"a\" : [ 1 , 2.50 , { } ] , \"a b\" : \"x \\\" y\" } "),
			[]byte(`{"b":1,"a":2}`), []byte(`"\u00e9\ud83d\ude00\/"`), []byte(`{"type":"tool_use","id":"inner"}`),
		}),
		rapid.Custom(func(t *rapid.T) json.RawMessage {
			b, err := json.Marshal(rapid.MapOf(texts, rapid.Int64()).Draw(t, "object"))
			if err != nil {
				t.Fatal(err)
			}
			return b
		}),
	)

	extras = rapid.Custom(func(t *rapid.T) map[string]json.RawMessage {
		x := map[string]json.RawMessage{}
		for range rapid.IntRange(0, 2).Draw(t, "extras") {
			x["x-"+rapid.StringMatching(`[a-z "\\<é]{0,4}`).Draw(t, "key")] = raws.Draw(t, "value")
		}
		if len(x) == 0 {
			return nil
		}
		return x
	})

	blobs = rapid.SliceOfN(rapid.Byte(), 0, 20)
)

// contents draws parts of a tool result.
func contents(t *rapid.T) []Part {
	var parts []Part
	for range rapid.IntRange(0, 3).Draw(t, "contents") {
		parts = append(parts, plainPart(t))
	}
	return parts
}

func plainPart(t *rapid.T) Part {
	x := extras.Draw(t, "extra")
	switch rapid.IntRange(0, 6).Draw(t, "part") {
	case 0:
		return Text{Text: texts.Draw(t, "text"), Extra: x}
	case 1:
		return Thinking{
			Text: texts.Draw(t, "thinking"), Signature: texts.Draw(t, "signature"),
			Data: texts.Draw(t, "data"), Redacted: rapid.Bool().Draw(t, "redacted"), Extra: x,
		}
	case 2:
		return Media{Name: texts.Draw(t, "name"), MIME: texts.Draw(t, "mime"), Data: blobs.Draw(t, "bytes"), URI: texts.Draw(t, "uri"), Extra: x}
	case 3:
		return File{
			Name: texts.Draw(t, "name"), MIME: texts.Draw(t, "mime"), Data: blobs.Draw(t, "bytes"),
			URI: texts.Draw(t, "uri"), Extra: x,
		}
	case 4:
		return Structured{Value: raws.Draw(t, "value"), Schema: raws.Draw(t, "schema"), Extra: x}
	case 5:
		return Custom{Kind: texts.Draw(t, "kind"), Value: raws.Draw(t, "value"), Extra: x}
	}
	return Unknown{Type: "hologram", JSON: json.RawMessage(fmt.Sprintf(`{"type": "hologram", "v": %s}`, raws.Draw(t, "value")))}
}

func anyPart(t *rapid.T) Part {
	switch rapid.IntRange(0, 5).Draw(t, "kind of part") {
	case 0:
		return ToolUse{ID: ids.Draw(t, "id"), Name: texts.Draw(t, "name"), Input: raws.Draw(t, "input"), Extra: extras.Draw(t, "extra")}
	case 1:
		return ToolResult{UseID: ids.Draw(t, "use"), Content: contents(t), IsError: rapid.Bool().Draw(t, "error"), Extra: extras.Draw(t, "extra")}
	}
	return plainPart(t)
}

var allRoles = []Role{RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool, RoleContext, RoleNotification}

// anyItem draws an item that Encode accepts.
func anyItem(t *rapid.T) Item {
	it := Item{
		ID:    texts.Draw(t, "item id"),
		Role:  rapid.SampledFrom(allRoles).Draw(t, "role"),
		Model: texts.Draw(t, "model"),
		Extra: extras.Draw(t, "item extra"),
	}
	if rapid.Bool().Draw(t, "has time") {
		it.Time = time.Unix(rapid.Int64Range(-62_000_000_000, 253_402_300_799).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nano")).
			In(time.FixedZone("somewhere", 3600*rapid.IntRange(-12, 14).Draw(t, "zone")))
		if y := it.Time.UTC().Year(); y > 9999 {
			it.Time = time.Time{}
		}
	}
	if it.Role == RoleAssistant {
		it.Finish = Finish(texts.Draw(t, "finish"))
		n := rapid.Int64()
		it.Usage = &Usage{Input: n.Draw(t, "in"), Output: n.Draw(t, "out"), CacheRead: n.Draw(t, "read"), CacheWrite: n.Draw(t, "write"), Reasoning: n.Draw(t, "reasoning")}
		it.Native = &Native{API: texts.Draw(t, "api"), JSON: raws.Draw(t, "native")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		it.Parts = append(it.Parts, anyPart(t))
	}
	if rapid.Bool().Draw(t, "has metadata") {
		it.Metadata = map[string]json.RawMessage{rapid.StringMatching(`[a-z"é]{0,3}`).Draw(t, "key"): raws.Draw(t, "metadata")}
	}
	return it
}

// anyTranscript draws items whose uses and results sometimes pair. Few ids make collisions likely.
func anyTranscript(t *rapid.T) []Encoded {
	few := rapid.SampledFrom([]string{"a", "b", "c"})
	var items []Encoded
	for i := range rapid.IntRange(0, 12).Draw(t, "items") {
		it := Item{ID: fmt.Sprintf("item-%d", i), Role: RoleUser}
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			it.Parts = []Part{Text{Text: fmt.Sprintf("text of %d", i)}}
		case 1:
			it.Role = RoleAssistant
			it.Native = &Native{API: "some", JSON: json.RawMessage(`[]`)}
			for range rapid.IntRange(1, 3).Draw(t, "uses") {
				it.Parts = append(it.Parts, ToolUse{ID: few.Draw(t, "use"), Name: "T", Input: json.RawMessage(fmt.Sprintf(`{"from":%d}`, i))})
			}
		case 2, 3:
			it.Role = RoleTool
			for k := range rapid.IntRange(1, 2).Draw(t, "results") {
				it.Parts = append(it.Parts, ToolResult{UseID: few.Draw(t, "answers"), Content: []Part{Text{Text: fmt.Sprintf("result %d of %d", k, i)}}})
			}
		case 4: // results and uses in one item
			it.Parts = []Part{
				ToolUse{ID: few.Draw(t, "use"), Name: "T"},
				ToolResult{UseID: few.Draw(t, "answers"), Content: []Part{Structured{Value: json.RawMessage(fmt.Sprintf(`{"value":%d}`, i))}}},
				Text{Text: "mixed"},
			}
		}
		items = append(items, it.MustEncode())
	}
	return items
}

// paired draws a valid transcript.
func paired(t *rapid.T) []Encoded {
	var items []Encoded
	for i := range rapid.IntRange(0, 6).Draw(t, "turns") {
		items = append(items, UserText("prompt").MustEncode())
		var parts []Part
		var results []Item
		for k := range rapid.IntRange(0, 3).Draw(t, "uses") {
			id := fmt.Sprintf("u%d-%d", i, k)
			parts = append(parts, ToolUse{ID: id, Name: "T"})
			results = append(results, ToolResult{UseID: id}.Item())
		}
		items = append(items, Item{Role: RoleAssistant, Parts: parts}.MustEncode())
		for _, r := range rapid.Permutation(results).Draw(t, "order") {
			items = append(items, r.MustEncode())
		}
	}
	return slices.Clip(items)
}
