package forms_test

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/forms"
)

func ExampleForm_ProposeDefaults() {
	f := &forms.Form{Server: "asker", Message: "Which seat?", Schema: json.RawMessage(`{"type":"object","required":["seat"],
		"properties":{"seat":{"type":"string"},"rows":{"type":"integer","default":2}}}`)}
	if err := f.ProposeDefaults(); err != nil {
		fmt.Println(err)
		return
	}
	asked, err := json.Marshal(f) // the input of a request with Form and Person
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = forms.ReadForm(asked, nil)
	fmt.Println(f.MissingFields(), err)
	content, err := forms.ReadForm(asked, json.RawMessage(`{"content": {"seat": "1A", "rows": 3}}`))
	fmt.Println(string(content), err)
	// Output:
	// [seat] field "seat" is required
	// {"rows":3,"seat":"1A"} <nil>
}
