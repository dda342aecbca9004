//! What compiler flags mean for the cache.
//!
//! A flag is *plain* if, with it, compiling is a function of the files that are read and of nothing else, and everything
//! that is read is told. Only builds with plain flags alone meet the cache. Flags that we do not know are not plain:
//! such a build runs all the same, in its own walls, over a copy of the whole workspace.

use headwater_contract::{Fault, FaultKind};

use super::scan::scan;

/// Flags of one build.
const MAX_FLAGS: usize = 512;
/// All flags together.
const MAX_FLAGS_BYTES: usize = 64 << 10;

/// What a build's flags come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// For each source.
    pub(crate) compile: Vec<String>,
    /// For the one link.
    pub(crate) link: Vec<String>,
    /// All of them are plain.
    pub(crate) plain: bool,
    /// The time of the build is part of what a macro becomes.
    pub(crate) timed: bool,
    /// The machine's processor matters.
    pub(crate) native: bool,
    /// Where quoted and other includes are looked for, as written, in order.
    pub(crate) quote_folders: Vec<String>,
    pub(crate) folders: Vec<String>,
    /// Files that are read before each source.
    pub(crate) forced: Vec<String>,
}

/// What one flag is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compile,
    Link,
    Both,
    /// Not plain: given to both.
    Other,
    Refused(&'static str),
}

/// Flags whose value may be the next argument.
const WITH_VALUE: [&str; 9] = ["-I", "-D", "-U", "-L", "-l", "-iquote", "-isystem", "-include", "-idirafter"];
/// The same, with any meaning that is not plain.
const OTHERS_WITH_VALUE: [&str; 9] =
    ["-Xlinker", "-Xassembler", "-Xpreprocessor", "-T", "-u", "-z", "-imacros", "-isysroot", "-x"];

/// Beginnings of `-f` flags that read or write more than sources and headers, or that only change what is printed.
const OTHER_F: [&str; 29] = [
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
/// Of those with a value, the ones whose value names no file.
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
/// Of the linker's, those that name no file.
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

/// Whether a flag for the linker says one thing, which names no file: after a comma there may be anything.
fn is_plain_linker(word: &str) -> bool {
    let parts: Vec<&str> = word.split(',').collect();
    match parts[..] {
        ["-Wl", one] => PLAIN_LINKER.contains(&one),
        ["-Wl", "-z" | "-rpath", value] => !value.starts_with(['-', '@']),
        _ => false,
    }
}

impl Flags {
    /// Understands what was asked for.
    pub(crate) fn parse(given: &[String], sanitize: &[String]) -> Result<Self, Fault> {
        let bytes: usize = given.iter().chain(sanitize).map(String::len).sum();
        if given.len() + sanitize.len() > MAX_FLAGS || bytes > MAX_FLAGS_BYTES {
            return Err(Fault::new(FaultKind::Invalid, "there are too many flags")
                .hint(format!("at most {MAX_FLAGS}, of {MAX_FLAGS_BYTES} bytes together")));
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
                return Err(Fault::new(FaultKind::Invalid, format!("`{name}` is no sanitizer"))
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
                Fault::new(FaultKind::Invalid, format!("the flag `{word}` cannot be given")).hint(hint)
            );
        }
        let mut all = vec![word.to_owned()];
        let takes_value = WITH_VALUE.contains(&word) || OTHERS_WITH_VALUE.contains(&word);
        if takes_value {
            let value = rest.next().ok_or_else(|| {
                Fault::new(FaultKind::Invalid, format!("the flag `{word}` lacks its value"))
                    .hint("give the value as the next flag")
            })?;
            all.push(value.clone());
        }
        self.note(word, all.get(1).map(String::as_str));
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

    /// Remembers what the scan of includes has to know.
    fn note(&mut self, word: &str, next: Option<&str>) {
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
            // What would be found in a source must not be missed here.
            let found = scan(definition.as_bytes());
            self.timed |= found.timed;
            self.plain &= !found.computed && found.quoted.is_empty() && found.angled.is_empty();
        }
        self.native |= word.starts_with("-m") && word.ends_with("=native");
    }
}

fn kind(word: &str) -> Kind {
    let refused = [
        ("-o", "`output_binary` says where the binary goes"),
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
        return Kind::Refused("dependencies are found without it");
    }
    if word.starts_with("-o") || word.starts_with("--output") {
        return Kind::Refused("`output_binary` says where the binary goes");
    }
    if word.starts_with("-save-temps") || word.starts_with("--save-temps") || word.starts_with("-dump") {
        return Kind::Refused("what is made on the way is not kept");
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
        _ if begins(&["-Wa,", "-Wp,", "-Wl,"]) || begins(&OTHER_F) => Kind::Other,
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
            let given = if OTHERS_WITH_VALUE.contains(&flag) { vec![flag, "x"] } else { vec![flag] };
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
