// Package scripted is a model that answers from a script file. It is for tests, for demos, and for
// trying out a setup without a key or a server.
//
//	             script.yaml ──Load──► Model
//	                                  ▲ │
//	what came: user, results, system ─┘ └─► text, thinking, tool uses, errors
//
// A script is YAML, or JSON, which is a subset of YAML. All keys are shown here. Only steps is
// required. Unknown keys are errors, which contain the line and column:
//
//	name: count            # the model's name; default "play"
//	context: 200000        # tokens it can see; a longer request is rejected; 0: no limit
//	max_output: 8000
//	price: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
//	chunk: 12              # characters in a delta; 0: all at once
//	delay: {before: 200ms, chunk: 10ms}
//	steps:
//	  - name: look                          # unique; shows in errors and in after
//	    expect: {user: count}               # or the request is rejected
//	    thinking: The README first.
//	    text: I look at the files.
//	    tool_uses:
//	      - {tool: Glob, input: {pattern: "**/*.md"}}
//	      - {id: my-id, tool: Read, input: {file_path: README.md}}
//	  - when: {tool: Read, is_error: true}  # see below
//	    text: There is no README.
//	  - text: "The files are: {{last_result}}"
//	    finish: stop                        # default stop, or tool_use
//	    usage: {input: 1000, output: 20}    # default: a fourth of the bytes
//	    chunk: 5
//	    delay: {before: 1s}
//	  - error: {kind: rate_limit, retry_after: 2s, times: 1}
//	    text: I am back.
//	  - error: {kind: network, after_chunks: 3, message: the line is dead}
//	    text: This sentence breaks off.
//	    chunk: 4
//	  - tool_uses: [{tool: Bash, raw_input: '{"command": '}]  # malformed input
//
// # Which step comes next
//
// The model has no state: the step depends only on the request. A run that was killed therefore
// resumes in a new process where it stopped. Each answer contains the name of its step in its
// native form.
//
//   - Steps with when are tried first, in order. The first that matches is used, as often as
//     it matches.
//   - Otherwise, the next step without when after the step of the newest answer in the request
//     is used. Answers without a step, such as those of other models and broken ones, count as
//     one step each.
//
// A step with when may be anywhere in the script, and the script continues after it. A step with
// when: {result: outcome unknown} between the others is therefore skipped in an undisturbed run,
// and used after a crash. Compaction may remove all answers of a request. Steps that must still be
// found after it need a when, and the request for the summary itself needs a step with
// when: {system: …}.
//
// The conditions of when and expect refer to the items since the newest answer:
// user and user_matches (text of the last user item; contains, regular
// expression), told and told_matches (the same of notifications: ended background
// tasks, messages of teammates), result, result_matches, is_error and tool (of one of the tool
// results), min_items and max_items (of the whole request), system (the prompt
// contains), after (name of the newest answer's step, or #3 for the third), any.
// All conditions that are set must match.
//
// Errors are of kind rate_limit, overloaded, network, auth, invalid, context_too_long, refused,
// not_found or malformed. With times, the step fails that many times for one request, and then
// succeeds. Without times, it always fails. The number of failures is the only state in memory.
//
// Like a real provider, the model rejects a request if its tool uses and results do not form pairs.
package scripted
