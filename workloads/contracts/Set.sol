pragma solidity 0.8.30;

/// Sets by key, as the set workload uses them. An element is not looked for
/// before it is added: one that takes effect twice shows twice.
contract Set {
    mapping(uint256 => uint32[]) private sets;

    event Added(uint256 indexed key, uint32 element);

    function add(uint256 key, uint32 element) external {
        sets[key].push(element);
        emit Added(key, element);
    }

    /// The elements in the order in which they came; the number and the parent's
    /// hash say which block answered.
    function elements(uint256 key) external view returns (uint32[] memory members, uint256 number, bytes32 parent) {
        return (sets[key], block.number, blockhash(block.number - 1));
    }
}
