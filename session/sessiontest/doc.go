// Package sessiontest checks that a [session.Store] keeps its contract. All stores of this module
// are tested with it. One test checks your own store:
//
//	func TestStore(t *testing.T) {
//		sessiontest.Run(t, func(t testing.TB) session.Store {
//			s, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { s.Close() })
//			return s
//		}, sessiontest.Capabilities{})
//	}
//
// Each subtest is named after one sentence of the contract and opens its own stores, so it can be
// run alone with -run. The optional interfaces [session.Leaser], [session.Deleter],
// [session.Eraser], [session.Rebuilder], [session.Watcher] and [session.Searcher] are checked if
// [session.As] finds them. With -short the long logs are shorter, but no check is left out.
// docs/your-store.md describes common mistakes, and journal_test.go is an example of a store
// written from scratch.
//
// The 14 contracts of the Claude Agent SDK's session stores and the subtests that check them. That
// SDK's keys of project, session and subpath are ids and session metadata here, its subagents are
// sessions with an owner, and its entries are records:
//
//	 1  loaded as appended, in order          append/keeps order and content, append/exact bytes
//	 2  a key never written is not found      append/needs a session
//	 3  the order of calls, not of ids        append/keeps order and content, append/times may run backwards
//	 4  an empty append changes nothing       append/refuses an empty batch
//	 5  a subagent has separate records       append/many sessions at once, list/runs
//	 6  projects do not mix                   list/filters, list/filters compare bytes
//	 7  the list has ids and times            list/newest first, list/filters together
//	 8  subagents are listed by their owner   list/runs (Query.Owner)
//	 9  delete; delete of a missing session   delete/is gone: ErrNotFound instead of no error
//	10  a delete affects one session only     delete/…, ids/prefixes
//	11  a subagent can be deleted alone       list/runs, delete/is gone
//	12  a session's subagents are listed      list/runs (Query.Owner)
//	13  no subagents: an empty list           list/runs
//	14  summaries follow from the entries     meta/follows from the records, meta/keeps any text
//
// It also checks properties that those contracts do not cover: retries, atomic batches,
// compare-and-set and fencing in races whose histories are checked for linearizability, torn tails,
// damage, prefixes and wildcards, paging and tails, big payloads and long logs, exact numbers,
// cancellation, second clients, aliasing, clocks, forks, erasing, the trash, watching and search.
//
// [RunProcesses] is the same race between processes: three of them open a store that does not exist
// yet, create one session and append to it.
//
// It does not check what happens when the power fails or the process is killed. Such failures
// depend on the medium, so a store needs its own tests for them.
package sessiontest
