package routes_test

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func ExampleLookup() {
	route, _ := routes.Lookup("revokeGrant")
	fmt.Println(route.Method, route.URL("s1", "g/1"))
	// Output: DELETE /v1/sessions/s1/grants/g%2F1
}

func ExampleDecode() {
	var d api.Decision
	fmt.Println(routes.Decode([]byte(`{"decison":"allow"}`), &d))
	// Output: the body has no field "decison"
}

func ExampleNewProblem() {
	p := routes.NewProblem(outcome.NotFound, "there is no session s1", "GET /v1/sessions lists them")
	fmt.Println(p.Status, p.Code, p)
	// Output: 404 not_found there is no session s1
}

func ExampleOpenAPI() {
	document, err := routes.OpenAPI(routes.Routes(), "1.0.0")
	var head struct{ OpenAPI string }
	fmt.Println(json.Unmarshal(document, &head), head.OpenAPI, err)
	// Output: <nil> 3.1.0 <nil>
}
