package secret_test

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/audit/secret"
)

func ExampleNew() {
	m, err := secret.New(&secret.Options{Patterns: []secret.Pattern{{
		ID: "badge", Words: []string{"badge"}, Expr: `badge (\d{6})`, Examples: []string{"badge 123456"},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, found := m.Text("let badge 471108 in")
	fmt.Println(text, found)
	raw, _ := m.JSON(json.RawMessage(`{"url": "postgres://app:pg7xQ2kL@db/app"}`))
	fmt.Println(string(raw))
	// Output:
	// let badge [secret:badge] in [badge]
	// {"url": "postgres://app:[secret:url-credentials]@db/app"}
}
