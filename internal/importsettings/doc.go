// Package importsettings reads settings files of other agents and says the same in ours, each
// value with the place that it has in their file.
//
//	.claude/settings.json ─┐
//	.codex/config.toml    ─┼─► Read ─► File: our JSON, where each value was written, what has no equal
//	requirements.toml, …  ─┘
//
//	f, err := foreign.Read(foreign.Claude, foreign.Settings, data)
//	line, col := f.Place(offset) // of an offset in f.JSON
//
// It decides nothing: what counts, and when, is for package settings.
package importsettings
