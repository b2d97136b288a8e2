package settings

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// SchemaID is the value of "$schema" in a settings file.
const SchemaID = "https://raw.githubusercontent.com/holdfast-dev/holdfast/main/internal/settings/schema.json"

// Schema returns the JSON Schema (2020-12) of a settings file, for editors. The reader rejects
// everything that the schema rejects, and checks more: rules, globs, and which layer may set what.
// A test compares the two.
func Schema() []byte { return slices.Clone(schema) }
