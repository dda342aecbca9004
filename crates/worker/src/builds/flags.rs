//! Compiler flags, and what they mean for the cache.
//!
//! A flag is *plain* if, with it, the result depends only on the files that are read, and all of them are reported. Only
//! builds whose flags are all plain use the cache. Unknown flags are not plain: such a build runs anyway, in its own
//! sandbox, on a copy of the whole workspace.

use headwater_contract::{Fault, FaultKind};

use super::scan::scan;

/// The most flags of one build.
const MAX_FLAGS: usize = 512;
/// The total length of all flags.
const MAX_FLAGS_BYTES: usize = 64 << 10;

/// The parsed flags of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// Flags to compile each source.
    pub(crate) compile: Vec<String>,
    /// Flags for the linker only.
    pub(crate) link: Vec<String>,
    /// Whether all flags are plain.
    pub(crate) plain: bool,
    /// Whether a macro expands to the time of the build.
    pub(crate) timed: bool,
    /// Whether the result depends on the processor of the host.
    pub(crate) native: bool,
    /// The folders in which quoted and other includes are searched, as given, in order.
    pub(crate) quote_folders: Vec<String>,
    pub(crate) folders: Vec<String>,
    /// Files that are included before each source.
    pub(crate) forced: Vec<String>,
}

/// The kinds of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compile,
    Link,
    Both,
    /// Not plain: passed to both.
    Other,
    Refused(&'static str),
}

/// Flags whose value may be the next argument.
const WITH_VALUE: [&str; 9] = ["-I", "-D", "-U", "-L", "-l", "-iquote", "-isystem", "-include", "-idirafter"];
/// Flags that are not plain and whose value may be the next argument.
const NOT_PLAIN_WITH_VALUE: [&str; 9] =
    ["-Xlinker", "-Xassembler", "-Xpreprocessor", "-T", "-u", "-z", "-imacros", "-isysroot", "-x"];

/// Beginnings of `-f` flags that read or write more than sources and headers, or that only change what is printed.
const NOT_PLAIN_F: [&str; 29] = [
    "-fplugin",
    "-flto",
    "-fprofile",
    "-fdump",
    "-fcallgraph",
    "-fdiagnostics",
    "-fmodule",
    "-fsave",
    "-ftime",
    "-fmem-",
    "-fopt-info",
    "-fstack-usage",
    "-fauto-profile",
    "-fbranch",
    "-fsanitize-",
    "-fcompare",
    "-fuse-ld",
    "-fcoverage",
    "-fpch",
    "-ftest-coverage",
    "-fembed",
    "-fthinlto",
    "-fdeps",
    "-fxray",
    "-fprebuilt",
    "-fbuild",
    "-fcrash",
    "-fproc",
    "-foptimization",
];
/// Plain `-f` flags with a value: the value is not the name of a file.
const PLAIN_F: [&str; 18] = [
    "-fvisibility=",
    "-ffp-contract=",
    "-fmax-errors=",
    "-ferror-limit=",
    "-ftemplate-depth=",
    "-fconstexpr-",
    "-ffile-prefix-map=",
    "-fdebug-prefix-map=",
    "-fmacro-prefix-map=",
    "-fcf-protection=",
    "-fabi-version=",
    "-fexec-charset=",
    "-finline-limit=",
    "-falign-",
    "-ftls-model=",
    "-fno-sanitize",
    "-fmessage-length=",
    "-ftrivial-auto-var-init=",
];
/// Plain linker flags: they do not name a file.
const PLAIN_LINKER: [&str; 13] = [
    "--as-needed",
    "--no-as-needed",
    "-O1",
    "-O2",
    "--gc-sections",
    "-s",
    "-S",
    "--build-id",
    "--no-undefined",
    "--export-dynamic",
    "--strip-all",
    "--strip-debug",
    "--no-as-needed",
];

/// Whether a linker flag is a single plain one: after a comma there may be anything.
fn is_plain_linker(word: &str) -> bool {
    let parts: Vec<&str> = word.split(',').collect();
    match parts[..] {
        ["-Wl", one] => PLAIN_LINKER.contains(&one),
        ["-Wl", "-z" | "-rpath", value] => !value.starts_with(['-', '@']),
        _ => false,
    }
}

impl Flags {
    /// Parses the flags of a request.
    pub(crate) fn parse(given: &[String], sanitize: &[String]) -> Result<Self, Fault> {
        let bytes: usize = given.iter().chain(sanitize).map(String::len).sum();
        if given.len() + sanitize.len() > MAX_FLAGS || bytes > MAX_FLAGS_BYTES {
            return Err(Fault::new(FaultKind::Invalid, "too many flags")
                .hint(format!("at most {MAX_FLAGS} flags with {MAX_FLAGS_BYTES} bytes in total")));
        }
        let mut flags = Self { plain: true, ..Self::default() };
        let mut words = given.iter();
        while let Some(word) = words.next() {
            flags.add(word, &mut words)?;
        }
        for name in sanitize {
            let known =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b));
            if !known {
                let name: String = name.chars().take(64).collect();
                return Err(Fault::new(FaultKind::Invalid, format!("`{name}` is not a sanitizer"))
                    .hint("for example `address`, `undefined`, `thread`, `leak`"));
            }
            let word = format!("-fsanitize={name}");
            flags.compile.push(word.clone());
            flags.link.push(word);
        }
        Ok(flags)
    }

    fn add(&mut self, word: &str, rest: &mut std::slice::Iter<'_, String>) -> Result<(), Fault> {
        if word.contains('\0') {
            return Err(Fault::new(FaultKind::Invalid, "a flag contains a zero byte").hint("leave it out"));
        }
        let kind = kind(word);
        if let Kind::Refused(hint) = kind {
            let word: String = word.chars().take(64).collect();
            return Err(
                Fault::new(FaultKind::Invalid, format!("the flag `{word}` is not allowed")).hint(hint)
            );
        }
        let mut all = vec![word.to_owned()];
        let takes_value = WITH_VALUE.contains(&word) || NOT_PLAIN_WITH_VALUE.contains(&word);
        if takes_value {
            let value = rest.next().ok_or_else(|| {
                Fault::new(FaultKind::Invalid, format!("the flag `{word}` has no value"))
                    .hint("pass the value as the next flag")
            })?;
            all.push(value.clone());
        }
        self.note_includes(word, all.get(1).map(String::as_str));
        self.plain &= kind != Kind::Other;
        match kind {
            Kind::Compile => self.compile.extend(all),
            Kind::Link => self.link.extend(all),
            _ => {
                self.compile.extend(all.iter().cloned());
                self.link.extend(all);
            }
        }
        Ok(())
    }

    /// Notes what the scan of includes needs.
    fn note_includes(&mut self, word: &str, next: Option<&str>) {
        let value = |flag: &str| match word.strip_prefix(flag) {
            Some("") => next.map(str::to_owned),
            Some(value) => Some(value.to_owned()),
            None => None,
        };
        if let Some(folder) = value("-iquote") {
            self.quote_folders.push(folder);
        } else if let Some(folder) = value("-isystem").or_else(|| value("-idirafter")) {
            self.folders.push(folder);
        } else if let Some(file) = value("-include") {
            self.forced.push(file);
        } else if let Some(folder) = value("-I") {
            self.folders.push(folder);
        } else if let Some(definition) = value("-D") {
            // A macro may contain what the scan looks for in sources.
            let found = scan(definition.as_bytes());
            self.timed |= found.timed;
            self.plain &= !found.computed && found.quoted.is_empty() && found.angled.is_empty();
        }
        self.native |= word.starts_with("-m") && word.ends_with("=native");
    }
}

fn kind(word: &str) -> Kind {
    let refused = [
        ("-o", "use `output_binary` for the path of the binary"),
        ("-c", "the build links its objects; use `POST /v1/sessions/{id}/builds` for anything else"),
        ("-S", "run the compiler in the session to look at what it makes"),
        ("-E", "run the compiler in the session to look at what it makes"),
        ("-###", "run the compiler in the session to look at what it does"),
        ("-", "name the sources in `source_files`"),
    ];
    if let Some((_, hint)) = refused.iter().find(|(flag, _)| *flag == word) {
        return Kind::Refused(hint);
    }
    if word.starts_with("-M") {
        return Kind::Refused("dependencies are found automatically");
    }
    if word.starts_with("-o") || word.starts_with("--output") {
        return Kind::Refused("use `output_binary` for the path of the binary");
    }
    if word.starts_with("-save-temps") || word.starts_with("--save-temps") || word.starts_with("-dump") {
        return Kind::Refused("intermediate files are not kept");
    }
    if !word.starts_with('-') && !word.starts_with('@') {
        return Kind::Refused("name the sources in `source_files`, and libraries as `-l` with their name");
    }
    plain_kind(word)
}

fn plain_kind(word: &str) -> Kind {
    let exact_both =
        ["-pthread", "-m32", "-m64", "-pg", "-fPIC", "-fpic", "-fPIE", "-fpie", "-static", "-shared"];
    let exact_link =
        ["-s", "-rdynamic", "-pie", "-no-pie", "-static-pie", "-static-libgcc", "-static-libstdc++"];
    let exact_compile = ["-ansi", "-w", "-pipe", "-pedantic", "-pedantic-errors", "-trigraphs", "-undef"];
    let begins = |list: &[&str]| list.iter().any(|start| word.starts_with(start));
    match word {
        _ if exact_both.contains(&word) || begins(&["-fsanitize=", "-fopenmp"]) => Kind::Both,
        _ if exact_link.contains(&word) || is_plain_linker(word) => Kind::Link,
        _ if exact_compile.contains(&word) => Kind::Compile,
        _ if word.starts_with("-l") && !word.contains([':', '/']) => Kind::Link,
        _ if begins(&["-iquote", "-isystem", "-include", "-idirafter"]) => Kind::Compile,
        _ if begins(&["-std=", "-O", "-D", "-U", "-I"]) => Kind::Compile,
        _ if is_debug(word) => Kind::Both,
        _ if begins(&["-Wa,", "-Wp,", "-Wl,"]) || begins(&NOT_PLAIN_F) => Kind::Other,
        _ if word.starts_with("-f") && word.contains('=') && !begins(&PLAIN_F) => Kind::Other,
        _ if word.starts_with("-W") || word.starts_with("-f") => Kind::Compile,
        _ if begins(&["-march=", "-mtune=", "-mcpu=", "-msse", "-mavx", "-mfma", "-mbmi", "-mpopcnt"]) => {
            Kind::Compile
        }
        _ => Kind::Other,
    }
}

fn is_debug(word: &str) -> bool {
    matches!(word, "-g" | "-g0" | "-g1" | "-g2" | "-g3" | "-ggdb" | "-ggdb3" | "-gdwarf-4" | "-gdwarf-5")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &[&str]) -> Result<Flags, Fault> {
        Flags::parse(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>(), &[])
    }

    #[test]
    fn the_usual_flags_are_plain_and_go_where_they_belong() {
        let flags = parse(&["-std=c++17", "-O2", "-Wall", "-lm", "-pthread", "-I", "inc", "-Iother", "-g"]);
        let flags = flags.unwrap();
        assert!(flags.plain && !flags.native);
        assert_eq!(flags.link, ["-lm", "-pthread", "-g"]);
        assert_eq!(flags.folders, ["inc", "other"]);
        assert_eq!(flags.compile[..3], ["-std=c++17", "-O2", "-Wall"]);
    }

    #[test]
    fn flags_that_read_write_or_run_something_else_are_not_plain() {
        for flag in [
            "-fplugin=./x.so",
            "@args",
            "-B.",
            "-wrapper",
            "-specs=x",
            "-flto",
            "-Wl,-T,script",
            "-Wa,--MD,x",
            "-fprofile-use",
            "-Llib",
            "-l:x.a",
            "-fuse-ld=gold",
            "--sysroot=/x",
            "-nostdinc",
            "-gsplit-dwarf",
            "-Xlinker",
            "-Wl,-z,defs,@file",
            "--param=x",
            "-fdump-tree-all",
            "-fwrapv",
            "-Wl,-script=x",
            "-Wl,-O1,-plugin,./x.so",
            "-Wl,-z,now,-T,x",
            "-Wl,-rpath,@x",
            "-fnobody-knows=x",
            "-imacros",
        ] {
            let given = if NOT_PLAIN_WITH_VALUE.contains(&flag) { vec![flag, "x"] } else { vec![flag] };
            let plain = parse(&given).unwrap().plain;
            assert_eq!(plain, flag == "-fwrapv", "{flag}");
        }
    }

    #[test]
    fn flags_that_would_take_the_build_over_are_refused_with_a_hint() {
        for flag in ["-o", "-ox", "-c", "-S", "-E", "-MD", "-MF", "-save-temps", "x.cpp", "-", "--output=x"] {
            let fault = parse(&[flag]).unwrap_err();
            assert!(fault.kind == FaultKind::Invalid && fault.hint.is_some(), "{flag}");
        }
        assert!(parse(&["-I"]).is_err());
        assert!(parse(&vec!["-O2"; MAX_FLAGS + 1]).is_err());
    }

    #[test]
    fn a_macro_expansion_is_checked_like_a_source() {
        for word in ["__DATE__", "__TIME__", "__TIMESTAMP__"] {
            let joined = parse(&[&format!("-DAT={word}")]).unwrap();
            let apart = parse(&["-D", &format!("AT(x)=x {word}")]).unwrap();
            assert!(joined.timed && apart.timed && joined.plain, "{word}");
        }
        for value in ["-DHAS=__has_include", "-DHAS=__has_include(\"a.h\")", "-DA=asm", "-DE=__has_embed"] {
            assert!(!parse(&[value]).unwrap().plain, "{value}");
        }
        let usual = parse(&["-DNAME=\"b.h\"", "-DN=1", "-DDEBUG"]).unwrap();
        assert!(usual.plain && !usual.timed);
    }

    #[test]
    fn sanitizers_are_names_and_the_processor_matters_if_it_is_asked_for() {
        let flags = Flags::parse(&["-march=native".into()], &["address".into()]).unwrap();
        assert!(flags.native && flags.plain);
        assert_eq!(flags.link, ["-fsanitize=address"]);
        assert!(Flags::parse(&[], &["a b".into()]).is_err());
    }
}
