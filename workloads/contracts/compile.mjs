// Compiles Register.sol to Register.json: its ABI and bytecode. Run it with the
// directory that holds the npm package solc 0.8.30:
//
//   npm install --prefix DIR solc@0.8.30
//   NODE_PATH=DIR/node_modules node workloads/contracts/compile.mjs > workloads/contracts/Register.json
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// An import does not look at NODE_PATH, a require does.
const solc = createRequire(import.meta.url)("solc");
const wanted = "0.8.30";
if (!solc.version().startsWith(wanted + "+")) {
  console.error(`solc is ${solc.version()}, want ${wanted}: another compiler gives other bytecode`);
  process.exit(1);
}
const settings = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: "london", // runs on every chain since; later versions use opcodes that older chains lack
  metadata: { appendCBOR: false, bytecodeHash: "none" },
  outputSelection: { "Register.sol": { Register: ["abi", "evm.bytecode.object"] } },
};
const input = {
  language: "Solidity",
  sources: { "Register.sol": { content: readFileSync(new URL("Register.sol", import.meta.url), "utf8") } },
  settings,
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
const errors = (output.errors ?? []).filter((e) => e.severity === "error");
if (errors.length > 0) {
  for (const e of errors) console.error(e.formattedMessage);
  process.exit(1);
}
const { abi, evm } = output.contracts["Register.sol"].Register;
console.log(JSON.stringify({ compiler: solc.version(), evmVersion: settings.evmVersion, abi, bytecode: "0x" + evm.bytecode.object }, null, 2));
