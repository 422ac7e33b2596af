// Compiles every contract beside it to a file of the same name: NAME.sol to
// NAME.json with its ABI and bytecode. Run it with the directory that holds the
// npm package solc 0.8.30:
//
//   npm install --prefix DIR solc@0.8.30
//   NODE_PATH=DIR/node_modules node workloads/contracts/compile.mjs [OUT]
//
// The files go to OUT, by default to where the sources are.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// An import does not look at NODE_PATH, a require does.
const solc = createRequire(import.meta.url)("solc");
const wanted = "0.8.30";
if (!solc.version().startsWith(wanted + "+")) {
  console.error(`solc is ${solc.version()}, want ${wanted}: another compiler gives other bytecode`);
  process.exit(1);
}
const here = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2] ?? here;
for (const file of readdirSync(here).filter((name) => name.endsWith(".sol")).sort()) {
  const name = file.slice(0, -".sol".length);
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: "london", // runs on every chain since; later versions use opcodes that older chains lack
    metadata: { appendCBOR: false, bytecodeHash: "none" },
    outputSelection: { [file]: { [name]: ["abi", "evm.bytecode.object"] } },
  };
  const input = {
    language: "Solidity",
    sources: { [file]: { content: readFileSync(join(here, file), "utf8") } },
    settings,
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((e) => e.severity === "error");
  if (errors.length > 0) {
    for (const e of errors) console.error(e.formattedMessage);
    process.exit(1);
  }
  const { abi, evm } = output.contracts[file][name];
  const artifact = { compiler: solc.version(), evmVersion: settings.evmVersion, abi, bytecode: "0x" + evm.bytecode.object };
  writeFileSync(join(out, name + ".json"), JSON.stringify(artifact, null, 2) + "\n");
}
