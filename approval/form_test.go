package approval

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/policy"
)

const seatSchema = `{"type":"object","required":["seat","days"],"properties":{
	"seat":{"type":"string","title":"Seat","pattern":"^[0-9]+[A-F]$","maxLength":4},
	"rows":{"type":"integer","minimum":1,"default":2},
	"price":{"type":"number","exclusiveMinimum":0},
	"quiet":{"type":"boolean"},
	"meal":{"type":"string","enum":["a","b"],"enumNames":["Apple","Bread"]},
	"class":{"oneOf":[{"const":"x","title":"First"}],"type":"string"},
	"days":{"type":"array","items":{"type":"string","enum":["mo","tu"]},"minItems":1},
	"mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},
	"on":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"}}}`

// seatForm returns a request with a form.
func seatForm(t testing.TB, schema string) Request {
	t.Helper()
	f, err := newForm("asker", "Which seat?", json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	r := policy.Request{Tool: "mcp__asker__book", Resource: "answer asker", Input: in, Person: true, Form: true}
	return New([]policy.Request{r}, policy.Decision{Tool: r.Tool}, RequestOptions{ID: "q"})
}

func TestForm(t *testing.T) {
	q := seatForm(t, seatSchema)
	f := forms.FormOf(q.Requests[0].Input)
	if !q.hasForm() || f == nil || f.Server != "asker" || string(f.Content) != `{"rows":2}` || strings.Join(f.MissingFields(), " ") != "days seat" {
		t.Fatalf("the form %+v, open %v", f, f.MissingFields())
	}
	for given, want := range map[string]string{
		``:                                      `field "days" is required; field "seat" is required`,
		`{}`:                                    `the content is missing`,
		`{"content":[]}`:                        `must be an object`,
		`{"content":null}`:                      `must be an object`,
		`{"content":{}}`:                        `field "days" is required; field "seat" is required`,
		`{"content":{"seat":null,"days":null}}`: `field "days" is required; field "seat" is required`,
		`{"content":{"seat":"1A","days":["mo"]},"message":"another"}`:               `only "content" may differ`,
		`{"content":{"seat":"1A","days":["mo"]},"more":1}`:                          `only "content" may differ`,
		`{"content":{"seat":"1A","days":["mo"],"who":"me"}}`:                        `the form has no field "who"`,
		`{"content":{"seat":1,"days":["mo"]}}`:                                      `"seat": want a string`,
		`{"content":{"seat":"A1","days":["mo"]}}`:                                   `"seat": pattern`,
		`{"content":{"seat":"1A","days":[]}}`:                                       `"days": minItems`,
		`{"content":{"seat":"1A","days":["mo","we"]}}`:                              `"days": want a list of some of "mo", "tu"`,
		`{"content":{"seat":"1A","days":"mo"}}`:                                     `"days": want a list`,
		`{"content":{"seat":"1A","days":["mo"],"rows":1.5}}`:                        `"rows": want a whole number`,
		`{"content":{"seat":"1A","days":["mo"],"rows":0}}`:                          `"rows": minimum`,
		`{"content":{"seat":"1A","days":["mo"],"rows":"2"}}`:                        `"rows": want a number`,
		`{"content":{"seat":"1A","days":["mo"],"price":0}}`:                         `"price": exclusiveMinimum`,
		`{"content":{"seat":"1A","days":["mo"],"quiet":"yes"}}`:                     `"quiet": want true or false`,
		`{"content":{"seat":"1A","days":["mo"],"meal":"Apple"}}`:                    `"meal": want one of "a", "b"`,
		`{"content":{"seat":"1A","days":["mo"],"class":"y"}}`:                       `"class": want one of "x"`,
		`{"content":{"seat":"1A","days":["mo"],"mail":"me"}}`:                       `"mail": want an e-mail address`,
		`{"content":{"seat":"1A","days":["mo"],"mail":"A <a@b.c>"}}`:                `"mail": want an e-mail address`,
		`{"content":{"seat":"1A","days":["mo"],"site":"b.c"}}`:                      `"site": want a URL`,
		`{"content":{"seat":"1A","days":["mo"],"on":"31.1.2026"}}`:                  `"on": want a date`,
		`{"content":{"seat":"1A","days":["mo"],"at":"2026-01-31"}}`:                 `"at": want a date and time`,
		`{"content":{"seat":"` + strings.Repeat("1", 64<<10) + `A","days":["mo"]}}`: `more than the limit`,
		`{"content":{"seat":1,"days":"mo"}}`:                                        `"days": want a list of some of "mo", "tu"; "seat": want a string`,
	} {
		err := q.Check(Answer{Decision: Allow, Input: json.RawMessage(given)})
		if given == "" {
			err = q.Check(Answer{Decision: Allow})
		}
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "hint: fill in") {
			t.Errorf("%.80s: %v, want something about %q", given, err, want)
		}
	}
	for given, want := range map[string]string{
		`{"content":{"seat":"1A","days":["mo"]}}`:             `{"days":["mo"],"seat":"1A"}`,
		`{"content":{"seat":"1A","days":["mo"],"meal":null}}`: `{"days":["mo"],"seat":"1A"}`,
		`{"content":{"seat":"2B","seat":"1A","days":["mo"]}}`: `{"days":["mo"],"seat":"1A"}`,
		`{"server":"asker","content":{"seat":"1A","days":["tu","mo"],"rows":3,"price":0.5,"quiet":false,"meal":"b","class":"x","mail":"a@b.c","site":"https://b.c/","on":"2026-01-31","at":"2026-01-31T10:00:00Z"}}`: `{"at":"2026-01-31T10:00:00Z","class":"x","days":["tu","mo"],"mail":"a@b.c","meal":"b","on":"2026-01-31","price":0.5,"quiet":false,"rows":3,"seat":"1A","site":"https://b.c/"}`,
	} {
		if err := q.Check(Answer{Decision: Allow, Input: json.RawMessage(given)}); err != nil {
			t.Errorf("%s: %v", given, err)
		}
		if got, err := forms.ReadForm(q.Requests[0].Input, json.RawMessage(given)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", given, got, err)
		}
	}
	if err := q.Check(Answer{Decision: AllowSession, Input: json.RawMessage(`{"content":{}}`)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("for the session: %v", err)
	}
	if err := q.Check(Answer{Decision: Deny}); err != nil {
		t.Errorf("a deny: %v", err)
	}
}

// If no field is required, or all have proposed values, an allow without input uses the proposed
// values.
func TestFormWithProposedValues(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{}`,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string","default":"1A"},"b":{"type":"string"}}}`: `{"a":"1A"}`,
	} {
		q := seatForm(t, schema)
		if err := q.Check(Answer{Decision: Allow}); err != nil || forms.FormOf(q.Requests[0].Input).MissingFields() != nil {
			t.Errorf("%s: %v, open %v", schema, err, forms.FormOf(q.Requests[0].Input).MissingFields())
		}
		if got, err := forms.ReadForm(q.Requests[0].Input, nil); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", schema, got, err)
		}
	}
}

// Only a request that the tool marks as a form is one, whatever its input looks like.
func TestNotAForm(t *testing.T) {
	q := seatForm(t, seatSchema)
	q.Requests[0].Form = false
	if q.hasForm() {
		t.Error("a call with such an input is treated as a form")
	}
	with, without := q.Requests[0], q.Requests[0]
	with.Form = true
	if with.Digest() == without.Digest() {
		t.Error("the digest of a form is not different")
	}
	broken := seatForm(t, seatSchema)
	broken.Requests[0].Input = json.RawMessage(`"x"`)
	if err := broken.Check(Answer{Decision: Allow}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unreadable form was allowed: %v", err)
	}
}

func newForm(server, message string, schema json.RawMessage) (*forms.Form, error) {
	f := &forms.Form{Server: server, Message: message, Schema: schema}
	return f, f.ProposeDefaults()
}
