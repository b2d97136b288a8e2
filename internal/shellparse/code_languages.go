package shellparse

import "strings"

// language describes how to detect whether code in a language can start programs.
type language struct {
	name    string
	calls   string // these start the program that their first argument names
	means   string // if the code contains one of these, its calls are relevant; empty: always relevant
	evals   string // these run or access something that is not visible; the effects of the code are then unclear
	quotes  string // the characters that start a string
	ticks   string // "run": a backtick runs a command; "string": it is a string
	expands string // what is replaced in a double-quoted string
	comment string
	pipes   bool // a string that starts or ends with "|" is a command (open)
}

var (
	langPython = &language{
		name: "python", quotes: `"'`, comment: "#",
		calls: `system popen popen2 popen3 popen4 getoutput getstatusoutput check_output check_call Popen call run spawn spawnl spawnle spawnlp spawnlpe
			spawnv spawnve spawnvp spawnvpe execl execle execlp execlpe execv execve execvp execvpe posix_spawn posix_spawnp startfile
			create_subprocess_exec create_subprocess_shell subprocess_exec subprocess_shell`,
		means: `system popen subprocess os posix nt pty commands asyncio pexpect popen2 sh plumbum invoke fabric spawn spawnl spawnv execv execl execvp execlp posix_spawn startfile`,
		evals: `eval exec getattr __import__ import_module importlib ctypes cffi globals locals vars __dict__ __builtins__ __globals__ __subclasses__ runpy pickle marshal
			code codeop pdb FunctionType attrgetter methodcaller webbrowser`,
	}
	langPerl = &language{
		name: "perl", quotes: `"'`, ticks: "run", expands: "$@", comment: "#", pipes: true,
		calls: `system exec qx readpipe syscall`,
		evals: `eval do require DynaLoader XSLoader open2 open3 can`,
	}
	langRuby = &language{
		name: "ruby", quotes: `"'`, ticks: "run", expands: "#", comment: "#", pipes: true,
		calls: `system exec spawn popen popen2 popen2e popen3 capture2 capture2e capture3 pipeline pipeline_r pipeline_w pipeline_rw pipeline_start sh`,
		evals: `eval instance_eval class_eval module_eval send public_send __send__ const_get method instance_method define_method Fiddle load syscall binding`,
	}
	langNode = &language{
		name: "javascript", quotes: `"'`, ticks: "string", comment: "//",
		calls: `exec execSync spawn spawnSync fork execFile execFileSync Command run $ sh`,
		means: `child_process Deno Bun execa shelljs zx execaCommand cluster worker_threads`,
		evals: `eval Function vm binding dlopen constructor mainModule _load createRequire Reflect runInThisContext runInNewContext globalThis WebAssembly`,
	}
	langMongo = &language{
		name: "javascript", quotes: `"'`, ticks: "string", comment: "//",
		calls: `run runProgram runNonMongoProgram _runMongoProgram startMongoProgram exec execSync spawn spawnSync`,
		evals: `eval Function load require process`,
	}
	langPHP = &language{
		name: "php", quotes: `"'`, ticks: "run", expands: "$", comment: "//",
		calls: `system exec shell_exec passthru popen proc_open pcntl_exec`,
		evals: `eval assert call_user_func call_user_func_array create_function array_map usort preg_replace_callback dl FFI include require include_once require_once ReflectionFunction array_filter`,
	}
	langLua = &language{
		name: "lua", quotes: `"'`, comment: "--",
		calls: `execute popen`,
		evals: `load loadstring dofile loadfile loadlib ffi _G _ENV rawget require`,
	}
	langR = &language{
		name: "r", quotes: `"'`, comment: "#",
		calls: `system system2 shell pipe`, evals: `eval parse get do.call match.fun source dyn.load processx`,
	}
	langJulia = &language{
		name: "julia", quotes: `"`, ticks: "run", expands: "$", comment: "#",
		calls: `run readchomp`, means: "run pipeline readchomp open", evals: `eval include ccall include_string getfield getproperty Meta`,
	}
	langLisp = &language{
		name: "lisp", quotes: `"`, comment: ";",
		calls: `shell-command call-process start-process make-process shell-command-to-string process-file async-shell-command process-lines call-process-region
			shell-command-on-region start-file-process start-process-shell-command call-process-shell-command compile run-program system system* run-shell-command
			open-input-pipe open-pipe open-pipe* shell sh process launch-program`,
		evals: `eval load funcall apply intern read symbol-function load-file eval-buffer module-load eshell-command`,
	}
	langJava = &language{
		name: "java", quotes: `"`, comment: "//",
		calls: `exec ProcessBuilder execute`, means: `Runtime ProcessBuilder execute`, evals: `forName getMethod invoke ScriptEngineManager loadLibrary evaluate eval`,
	}
	langElixir = &language{
		name: "elixir", quotes: `"'`, comment: "#", expands: "#",
		calls: `cmd shell open_port open`, means: `System os Port open_port`, evals: `Code apply eval_string`,
	}
	langAppleScript = &language{
		name: "applescript", quotes: `"`, comment: "--",
		calls: `script doShellScript`, means: `shell doShellScript`, evals: `run load $ ObjC`,
	}
	langHaskell = &language{
		name: "haskell", quotes: `"`, comment: "--",
		calls: `system callCommand callProcess readProcess spawnCommand spawnProcess rawSystem readCreateProcess createProcess shell proc runCommand command`,
		evals: `foreign unsafePerformIO`,
	}
)

// contains reports whether a list of words contains the word.
func contains(list, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(list[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || list[start-1] <= ' ') && (end == len(list) || list[end] <= ' ') {
			return true
		}
		from = start + 1
	}
	return false
}
