// Package runtext says in words what happened in a run. The one-shot output of a run
// (internal/cli/view) and the conversation (internal/conversation) share these texts.
//
//	runtext.Headline("Bash", input, cwd) // "go test ./..."
//	runtext.EndReason(result)            // "the provider refused to answer"
//
// The texts contain what models, tools and hooks wrote. They are not escaped and can have several
// lines.
package runtext
