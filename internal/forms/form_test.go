package forms

import (
	"encoding/json"
	"strings"
	"testing"
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

func TestSchemasThatCannotBeAsked(t *testing.T) {
	many := map[string]any{}
	for i := range maxFormFields + 1 {
		many[strings.Repeat("x", i+1)] = map[string]string{"type": "string"}
	}
	list, err := json.Marshal(map[string]any{"properties": many})
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{
		``, `[]`, `{"properties":{"a":null}}`, `{"properties":{"a":{"type":"array"}}}`, `{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"type":7}}}`, `{"properties":{"a":{"enum":[1]}}}`, `{"required":["a"]}`, string(list),
		`{"properties":{"a":{"type":"string","pattern":"("}}}`, `{"properties":{"a":{"$ref":"https://example.com/x"}}}`,
		`{"properties":{"a":{"type":"string","description":"` + strings.Repeat("x", maxFormSchema) + `"}}}`,
	} {
		if f, err := newForm("s", "m", json.RawMessage(schema)); err == nil {
			t.Errorf("%.60s: %+v", schema, f)
		}
	}
}

func newForm(server, message string, schema json.RawMessage) (*Form, error) {
	f := &Form{Server: server, Message: message, Schema: schema}
	return f, f.ProposeDefaults()
}

func TestFormFields(t *testing.T) {
	list, err := (&Form{Schema: json.RawMessage(seatSchema)}).Fields()
	if err != nil || len(list) != 11 {
		t.Fatal(list, err)
	}
	byName := map[string]Field{}
	for _, f := range list {
		byName[f.Name] = f
	}
	if f := byName["meal"]; f.Type != "choice" || len(f.Options) != 2 || f.Options[1] != (FieldOption{"b", "Bread"}) {
		t.Errorf("%+v", f)
	}
	if f := byName["days"]; f.Type != "choices" || len(f.Options) != 2 || !f.Required {
		t.Errorf("%+v", f)
	}
	if f := byName["class"]; f.Type != "choice" || f.Options[0].Title != "First" {
		t.Errorf("%+v", f)
	}
}

func TestLooksSecret(t *testing.T) {
	for text, want := range map[string]bool{
		"password": true, "api_key": true, "API-Key": true, "accessToken": true, "client secret": true, "pin": true,
		"name": false, "keyboard": false, "pineapple": false, "monkey": false,
	} {
		if looksSecret(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// Whatever a server asks and somebody answers: what is taken fits the schema.
func FuzzForm(f *testing.F) {
	f.Add([]byte(seatSchema), []byte(`{"content":{"seat":"1A","days":["mo"]}}`))
	f.Add([]byte(`{"properties":{"a":{"type":"string","default":1}}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, given []byte) {
		form, err := newForm("s", "m", schema)
		if err != nil {
			return
		}
		asked, err := json.Marshal(form)
		if err != nil {
			t.Fatal(err)
		}
		content, err := ReadForm(asked, given)
		if err != nil {
			return
		}
		if err := validate(schema, content); err != nil {
			t.Fatal(err)
		}
		for _, name := range form.MissingFields() {
			var said map[string]json.RawMessage
			if json.Unmarshal(content, &said) != nil || said[name] == nil && len(given) > 0 {
				t.Fatalf("%s is open in %s", name, content)
			}
		}
	})
}
