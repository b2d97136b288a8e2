// Package sessiontest checks that a [session.Store] keeps its contract. A store
// of your own is held to what every store of this module is held to by one test:
//
//	func TestStore(t *testing.T) {
//		sessiontest.Run(t, func(t testing.TB) session.Store {
//			s, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { s.Close() })
//			return s
//		}, sessiontest.Caps{})
//	}
//
// Each subtest is named after one sentence of the contract and opens stores of
// its own, so it can be run alone with -run. The optional interfaces
// [session.Leaser], [session.Deleter], [session.Eraser],
// [session.Rebuilder], [session.Watcher] and [session.Searcher] are
// checked when [session.As] finds them. With -short the long logs are shorter; nothing is
// left out. docs/your-store.md tells what is easily missed, and journal_test.go is a
// store as a stranger could have written it.
//
// The 14 contracts of the Claude Agent SDK's session stores, in our nouns (their keys
// of project, session and subpath are ids and metas here, their subagents are sessions
// with an owner, their entries records):
//
//	 1  loaded as appended, in order          append/keeps order and content, append/exact bytes
//	 2  what was never written is not there   append/needs a session
//	 3  the order of calls, not of ids        append/keeps order and content, append/times may run backwards
//	 4  an empty append changes nothing       append/refuses an empty batch
//	 5  a subagent's records are its own      append/many sessions at once, list/runs
//	 6  projects do not mix                   list/filters, list/filters compare bytes
//	 7  the list has ids and times            list/newest first, list/filters together
//	 8  subagents are listed by who asks      list/runs (Query.Owner)
//	 9  delete; of what is not there          delete/is gone: ErrNotFound instead of silence
//	10  a delete takes its own and no other   delete/…, ids/none begins another
//	11  a subagent can be deleted alone       list/runs, delete/is gone
//	12  a session's subagents are listed      list/runs (Query.Owner)
//	13  none when there are none              list/runs
//	14  summaries follow from the entries     meta/follows from the records, meta/keeps any text
//
// And what those leave out: retries, atomic batches, compare-and-set and fencing under
// races whose histories are checked for linearizability, torn tails, damage, prefixes
// and wildcards, paging and tails, big payloads and long logs, exact numbers,
// cancellation, second clients, aliasing, clocks, forks, erasing, the trash, watching
// and search.
//
// [RunProcesses] is the same race between programs: three of them open a store that is
// not there yet, create one session and append to it.
//
// It does not check what happens when power fails or the process is killed:
// that needs the medium, and the store's own tests.
package sessiontest
